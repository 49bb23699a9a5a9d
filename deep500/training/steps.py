"""The training step of an executor: plain, or one of the two that are reproducible."""

import warnings

from ..contracts.executor import Executor, TrainingStep
from ..contracts.optimizer import Optimizer
from ..contracts.three_step import ThreeStepOptimizer
from ..errors import Deep500Warning, Unsupported, one_line
from .fixed_step import FixedStep
from .leaf_step import LeafStep


def training_step(
    executor: Executor, optimizer: Optimizer | ThreeStepOptimizer, y: str
) -> TrainingStep:
    """The training step of an executor; reproducible if it has leaves.

    Its kernels have the same bits on every processor, or are the framework's: as the leaves ask, and by default the
    former, with a warning where the latter are needed.
    """
    leaves = executor.leaves
    if leaves is None:
        return executor.training_step(optimizer, y=y)
    if isinstance(optimizer, ThreeStepOptimizer):
        raise Unsupported(
            "an optimizer in three steps sees every parameter before its gradient: reproducible training takes an "
            "Optimizer, such as d5.optimizers.Adam(0.01)"
        )
    if leaves.kernels != "framework":
        try:
            return FixedStep(executor, optimizer, leaves, y)
        except Unsupported as error:
            reason = one_line(error)
            if leaves.kernels == "fixed":
                raise Unsupported(
                    f"the weights cannot be the same on every processor: {reason}; give --reproducible framework for "
                    "the same on this one"
                ) from error
            warnings.warn(
                f"the weights will be the same on this kind of processor only: {reason}",
                Deep500Warning,
                stacklevel=2,
            )
    return LeafStep(executor, optimizer, leaves, y)
