"""The truth by an operator's own code or by a reference: in float64, in a process of its own or in this one."""

from collections.abc import Sequence
from typing import Any

from ...contracts.operator import Operator
from .examples import XP, Reference
from .formats import Values
from .opaque import derive, refer, run, shaken
from .rounding import INSIDE, PerturbedRun, RoundedNamespace
from .runner import OperatorRunner


class OperatorOracle:
    """Every method takes and returns NumPy arrays; `noise` names the rounding errors to be made, None for none."""

    def __init__(
        self,
        reference: Reference | None = None,
        runner: OperatorRunner | None = None,
    ):
        self.called = reference
        self.runner = runner

    def results(self, operator: Operator, inputs: Values, noise: Any) -> tuple:
        xp = _namespace(noise)
        return run(operator, xp, inputs)

    def derived(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        noise: Any,
    ) -> list:
        xp = _namespace(noise)
        return derive(operator, xp, inputs, seeds)

    def differentiated(
        self, operator: Operator, inputs: Values, seeds: Values, noise: Any
    ) -> list:
        """The gradients of a function, as its framework differentiates it."""
        return self.differentiated_by(operator, inputs, seeds, _namespace(noise))

    def differentiated_by(
        self, operator: Operator, inputs: Values, seeds: Values, xp: Any
    ) -> list:
        assert self.runner is not None  # only asked where there is one
        gradients: list = self.runner.gradient(operator, inputs, seeds)
        if isinstance(xp, RoundedNamespace):
            return list(shaken(gradients, xp._noise, inputs, seeds))
        return gradients

    def each(self, method: str, calls: Sequence[Values]) -> list:
        """The results of several calls of one method."""
        function = getattr(self, method)
        return [function(*call) for call in calls]

    def infer(self, operator: Operator, tensors: Values) -> tuple:
        return operator.infer(*tensors)

    def flops(self, operator: Operator, tensors: Values) -> float:
        return float(operator.flops(*tensors))

    def reference(self, inputs: Values, noise: Any) -> Any:
        assert self.called is not None  # only asked where there is one
        return refer(self.called, _namespace(noise), inputs)


def _namespace(noise: Any) -> Any:
    if noise is None:
        return XP
    number, dtype = noise
    return RoundedNamespace(PerturbedRun(number, dtype, INSIDE))


def noise_of(xp: Any) -> Any:
    """The number and dtype of a namespace's noise, by which a oracle makes it again; None without noise."""
    if not isinstance(xp, RoundedNamespace):
        return None
    noise = xp._noise
    return noise.number, noise.dtype
