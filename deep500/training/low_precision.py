"""Training in low precision: the loss scaled, steps that overflow skipped, weights rounded after their update."""

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
OWN_STATE = ("loss scale", "good steps", "skipped steps")
WEIGHTS = "weights"  # in the place of a node's name, where chance is drawn


class LowPrecision(Procedure):
    """One network in a precision, and its optimizer.

    Gradients are checked and weights are rounded between the halves of a step, in the executor's flat buffers, so that
    the frameworks need to know nothing of it.
    """

    def __init__(self, executor: Executor, optimizer: Optimizer, precision: Precision):
        self.executor, self.precision = executor, precision
        self.executors = {"network": executor}
        self.y = SCALED if precision.scales_loss else "loss"
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
            with np.errstate(over="ignore", invalid="ignore"):  # a scale that is too large shows so
                outputs = self.training_step.backprop(self._scaled(batch), first_row)
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
        inputs = self._scaled(batch) if self.precision.scales_loss else batch
        with np.errstate(over="ignore", invalid="ignore"):
            self.executor.inference_and_backprop(inputs, self.y, self.training_step.count)
        scale = self.scale if self.precision.scales_loss else 1.0
        return flat_gradient(self.executor) / scale

    def state(self) -> dict[str, np.ndarray]:
        own = [self.scale, self.good_steps, self.skipped_steps]
        numbers = [np.asarray(number, np.float64) for number in own]
        return self.training_step.state() | dict(zip(OWN_STATE, numbers, strict=True))

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        optimizer = {name: value for name, value in state.items() if name not in OWN_STATE}
        self.training_step.load_state(optimizer)
        self.scale = float(state["loss scale"])
        self.good_steps = int(state["good steps"])
        self.skipped_steps = int(state["skipped steps"])

    def _scaled(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        return {**batch, SCALE: np.asarray(self.scale, np.float32)}

    def _unscale_gradients(self) -> bool:
        """Divide the gradients by the scale; False, and they are left alone, if one is not finite."""
        buffers = self.executor.flat_gradients()
        arrays = {dtype: buffers[dtype] for dtype in buffers}
        if not all(np.isfinite(array).all() for array in arrays.values()):
            return False
        unscaled = {dtype: array / array.dtype.type(self.scale) for dtype, array in arrays.items()}
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
        words = random_key.derive(executor.seed, WEIGHTS, None, count)
        key = np.array(random_key.complete(words), np.int64)
        buffers = executor.flat_params()
        rounded = {}
        for dtype in buffers:
            rounded[dtype] = self.precision.round_weights(self._xp, buffers[dtype], key)
        executor.load_flat_params(rounded)


def flat_gradient(executor: Executor) -> np.ndarray:
    """All gradients of the last backprop as one float64 vector."""
    buffers = executor.flat_gradients()
    return np.concatenate([np.asarray(buffers[dtype], np.float64) for dtype in buffers])
