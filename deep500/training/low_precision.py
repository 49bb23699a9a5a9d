"""Training in low precision: scales the loss, skips steps that overflow, and rounds the weights after an update."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..contracts import random_key
from ..contracts.executor import Executor, Values
from ..contracts.optimizer import Optimizer
from ..contracts.precision import SCALE, SCALED, Precision
from ..contracts.procedure import Procedure
from ..frameworks import framework

SMALLEST_SCALE = 2.0**-24
LARGEST_SCALE = 2.0**60
# takes the place of a node's name when random keys are derived
WEIGHTS = "weights"


class LowPrecision(Procedure):
    """One network in a given precision, and its optimizer.

    Gradients are checked and weights are rounded in the executor's flat buffers, between backpropagation and update,
    so that the frameworks need no support for it.
    """

    def __init__(self, executor: Executor, optimizer: Optimizer, precision: Precision):
        self.executor = executor
        self.precision = precision
        self.executors = {"network": executor}
        self.y = "loss"
        if precision.scales_loss:
            self.y = SCALED
        self.training_step = executor.training_step(optimizer, y=self.y)
        self.scale = precision.loss_scale
        self.good_steps = 0  # since the scale was last changed
        self.skipped_steps = 0
        self._xp = framework("reference").xp
        if precision.rounds_weights:
            self._round_weights()

    def step(self, batch: Mapping[str, Any], first_row: int = 0) -> Values:
        if not self.precision.scales_loss:
            outputs = self.training_step(batch, first_row)
        else:
            scaled = self._scaled(batch)
            # a scale that is too large overflows, which is handled below
            with np.errstate(over="ignore", invalid="ignore"):
                outputs = self.training_step.backprop(scaled, first_row)
            if not self._unscale_gradients():
                self._skip()
                return outputs
            self.training_step.update()
            self._count_good_step()
        if self.precision.rounds_weights:
            self._round_weights()
        return outputs

    def inference(self, batch: Mapping[str, Any]) -> Values:
        return self.executor.inference(batch)

    def gradient(self, batch: Mapping[str, Any]) -> np.ndarray:
        """The gradient of the loss on a batch, as one float64 vector; nothing is updated."""
        inputs, scale = batch, 1.0
        if self.precision.scales_loss:
            inputs, scale = self._scaled(batch), self.scale
        count = self.training_step.count
        with np.errstate(over="ignore", invalid="ignore"):
            self.executor.inference_and_backprop(inputs, self.y, count)
        return flat_gradient(self.executor) / scale

    def state(self) -> dict[str, np.ndarray]:
        state = self.training_step.state()
        state["loss scale"] = np.asarray(self.scale, np.float64)
        state["good steps"] = np.asarray(self.good_steps, np.float64)
        state["skipped steps"] = np.asarray(self.skipped_steps, np.float64)
        return state

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        optimizer_state = dict(state)
        self.scale = float(optimizer_state.pop("loss scale"))
        self.good_steps = int(optimizer_state.pop("good steps"))
        self.skipped_steps = int(optimizer_state.pop("skipped steps"))
        self.training_step.load_state(optimizer_state)

    def _scaled(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        return {**batch, SCALE: np.asarray(self.scale, np.float32)}

    def _unscale_gradients(self) -> bool:
        """Divide the gradients by the scale; return False and leave them unchanged if one is not finite."""
        buffers = self.executor.flat_gradients()
        unscaled = {}
        for dtype in buffers:
            gradients = buffers[dtype]
            if not np.isfinite(gradients).all():
                return False
            scale = gradients.dtype.type(self.scale)
            unscaled[dtype] = gradients / scale
        self.executor.load_flat_gradients(unscaled)
        return True

    def _skip(self) -> None:
        self.skipped_steps += 1
        self.good_steps = 0
        if self.precision.dynamic:
            self.scale = max(self.scale / 2, SMALLEST_SCALE)

    def _count_good_step(self) -> None:
        self.good_steps += 1
        if self.precision.dynamic and self.good_steps >= self.precision.patience:
            self.scale = min(self.scale * 2, LARGEST_SCALE)
            self.good_steps = 0

    def _round_weights(self) -> None:
        executor, count = self.executor, self.training_step.count
        key_words = random_key.derive(executor.seed, WEIGHTS, None, count)
        key = np.array(random_key.complete(key_words), np.int64)
        buffers = executor.flat_params()
        rounded = {}
        for dtype in buffers:
            weights = buffers[dtype]
            rounded[dtype] = self.precision.round_weights(self._xp, weights, key)
        executor.load_flat_params(rounded)


def flat_gradient(executor: Executor) -> np.ndarray:
    """All gradients of the last backpropagation as one float64 vector."""
    buffers = executor.flat_gradients()
    return np.concatenate([np.asarray(buffers[dtype], np.float64) for dtype in buffers])
