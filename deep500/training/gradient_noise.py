"""Measures the noise of rounding in a gradient, and compares it to the noise of sampling minibatches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..contracts.executor import Executor
from ..errors import Deep500Error
from .events import Event
from .low_precision import LowPrecision, flat_gradient

if TYPE_CHECKING:
    from .trainer import Trainer

BATCHES = 8


@dataclass(frozen=True)
class GradientNoise:
    """Sums of variances over all elements of the gradient."""

    minibatch: float  # variance of the float32 gradient between minibatches
    rounding: float  # mean squared error by rounding, including its bias
    batches: int


def noise_of(
    exact: Sequence[np.ndarray], coarse: Sequence[np.ndarray]
) -> GradientNoise:
    """The noise in gradients of the same minibatches, computed in float32 (exact) and in low precision (coarse)."""
    if len(exact) != len(coarse) or len(exact) < 2:
        raise Deep500Error(
            "the noise of gradients needs two minibatches or more, each computed twice"
        )
    references, rounded = np.stack(exact), np.stack(coarse)
    minibatch = references.var(axis=0, ddof=1).sum()
    rounding = ((rounded - references) ** 2).sum(axis=1).mean()
    return GradientNoise(float(minibatch), float(rounding), len(exact))


class MeasureNoise(Event):
    """Records after every epoch the series "minibatch noise" and "rounding noise", and the counter "skipped steps".

    `exact` makes an executor for the same network in float32. Both executors get the current weights and the same
    minibatches, the first ones of the training data.
    """

    def __init__(self, exact: Callable[[], Executor], batches: int = BATCHES):
        self.make_exact = exact
        self.batches = batches
        self.exact: Executor | None = None

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        procedure = trainer.procedure
        if not isinstance(procedure, LowPrecision):
            return
        trainer.counters["skipped steps"] = float(procedure.skipped_steps)
        noise = self.measured(trainer, procedure)
        if noise is not None:
            trainer.record("minibatch noise", noise.minibatch)
            trainer.record("rounding noise", noise.rounding)

    def measured(
        self, trainer: "Trainer", procedure: LowPrecision
    ) -> GradientNoise | None:
        """The noise at the current weights; None if there are too few examples for two minibatches."""
        size, train = trainer.sampler.batch_size, trainer.splits["train"]
        all_starts = range(0, len(train) - size + 1, size)
        starts = all_starts[: self.batches]
        if len(starts) < 2:
            return None
        weights = procedure.executor.arrays()
        exact_executor = self._exact_executor()
        exact, coarse = [], []
        for start in starts:
            batch = train.batch(slice(start, start + size))
            exact_executor.load(weights)
            exact_executor.inference_and_backprop(batch)
            exact.append(flat_gradient(exact_executor))
            coarse.append(procedure.gradient(batch))
            procedure.executor.load(weights)  # restores running statistics
        return noise_of(exact, coarse)

    def _exact_executor(self) -> Executor:
        if self.exact is None:
            self.exact = self.make_exact()
        return self.exact
