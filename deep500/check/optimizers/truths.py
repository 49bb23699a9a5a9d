"""What the steps of an optimizer are compared with: a textbook formula, another optimizer, or its own code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.native_optimizer import LibraryOptimizer, NativeOptimizer
from ...contracts.optimizer import Optimizer
from ...contracts.schedule import Schedule
from .oracles import RULES, Oracle
from .problems import Arrays, TrainingProblem
from .stepping import followed, trajectory

Path = Sequence[Mapping[str, np.ndarray]]  # the parameters after every step
EXACT = 1e-10
KERAS = 1e-6  # Keras holds the rate in float32


class StepTruth:
    """The expected parameters after every step; `text` says where they come from.

    independent   Whether they come from other code than that of the optimizer that is checked.
    bound         What they are known to, relative to how far a parameter has moved.
    """

    text: str
    independent = True
    bound = EXACT

    def path(self, problem: TrainingProblem, steps: int) -> tuple[list[Arrays], Path]:
        """The gradients of every step, and the parameters after it."""
        raise NotImplementedError


@dataclass(frozen=True)
class FormulaTruth(StepTruth):
    """The textbook formula of a built-in rule, in float64."""

    rule: Optimizer

    @property
    def text(self) -> str:  # type: ignore[override]
        return f"the textbook formula of {self.rule!r}"

    def path(self, problem: TrainingProblem, steps: int) -> tuple[list[Arrays], Path]:
        formula = RULES[type(self.rule).__name__]
        truth = Oracle(formula, self.rule.settings, problem.start, self._rate_at)
        gradients, path = [], []
        for step in range(steps):
            step_gradients = problem.gradient(truth.params, step)
            gradients.append(step_gradients)
            path.append(truth.step(step_gradients))
        return gradients, path

    def _rate_at(self, step: int) -> float:
        rate = self.rule.settings["learning_rate"]
        return rate.number(step) if isinstance(rate, Schedule) else rate


@dataclass(frozen=True)
class OptimizerTruth(StepTruth):
    """The steps of another optimizer, on its own framework or on the reference framework, in float64."""

    optimizer: Any

    @property
    def text(self) -> str:  # type: ignore[override]
        return f"{shown_optimizer(self.optimizer)} on {home(self.optimizer)}"

    @property
    def bound(self) -> float:  # type: ignore[override]
        return precision(self.optimizer)

    def path(self, problem: TrainingProblem, steps: int) -> tuple[list[Arrays], Path]:
        return followed(home(self.optimizer), self.optimizer, problem, steps)


@dataclass(frozen=True)
class OwnTruth(StepTruth):
    """The steps of the same code in float64: they show what a framework does to it, not whether it is right."""

    optimizer: Any
    independent = False

    @property
    def text(self) -> str:  # type: ignore[override]
        return f"the same code on {home(self.optimizer)} in float64"

    def path(self, problem: TrainingProblem, steps: int) -> tuple[list[Arrays], Path]:
        start = problem.start
        gradients = [problem.gradient(start, step) for step in range(steps)]
        path = trajectory(
            home(self.optimizer), self.optimizer, start, gradients, "float64"
        )
        return gradients, path


def truth_of(reference: Any) -> StepTruth:
    """What a reference prescribes: its textbook formula if it is built in and has one, else what its code computes."""
    if is_built_in(reference) and type(reference).__name__ in RULES:
        return FormulaTruth(reference)
    return OptimizerTruth(reference)


def is_built_in(optimizer: Any) -> bool:
    """Whether the class is one of deep500.optimizers."""
    package = __name__.partition(".")[0]
    return type(optimizer).__module__.startswith(f"{package}.optimizers.")


def home(optimizer: Any) -> str:
    """The framework on which an optimizer is its own reference."""
    return getattr(optimizer, "framework", "") or "reference"


def precision(optimizer: Any) -> float:
    """What the steps of an optimizer in float64 are known to."""
    is_keras = home(optimizer) == "tensorflow"
    return KERAS if is_keras and isinstance(optimizer, NativeOptimizer) else EXACT


def optimizer_name(optimizer: Any) -> str:
    if isinstance(optimizer, LibraryOptimizer):
        return optimizer.name
    return type(optimizer).__name__


def shown_optimizer(optimizer: Any) -> str:
    """An optimizer as a report names it."""
    if isinstance(optimizer, Optimizer) and not isinstance(optimizer, LibraryOptimizer):
        return repr(optimizer)
    return optimizer_name(optimizer)
