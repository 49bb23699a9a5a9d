"""The truth by an operator's own code or by a reference: in float64, in a process of its own or in this one."""

from collections.abc import Sequence
from typing import Any

from ...contracts.framework import gradient_formula
from ...contracts.operator import Operator
from .examples import XP, Reference
from .formats import Values
from .rounding import PerturbedRun, RoundedNamespace


class Witness:
    """Every method takes and returns NumPy arrays; `noise` names the rounding errors to be made, None for none."""

    def __init__(self, reference: Reference | None = None):
        self.called = reference

    def results(self, operator: Operator, inputs: Values, noise: Any) -> tuple:
        return operator.run(_namespace(noise), *inputs)

    def derived(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        noise: Any,
    ) -> list:
        return gradient_formula(_namespace(noise), operator, inputs, seeds)

    def each(self, method: str, calls: Sequence[Values]) -> list:
        """The results of several calls of one method."""
        function = getattr(self, method)
        return [function(*call) for call in calls]

    def infer(self, operator: Operator, tensors: Values) -> tuple:
        return operator.infer(*tensors)

    def flops(self, operator: Operator, tensors: Values) -> float:
        return float(operator.flops(*tensors))

    def reference(self, inputs: Values) -> Any:
        assert self.called is not None  # only asked where there is one
        return self.called(*inputs)


def _namespace(noise: Any) -> Any:
    if noise is None:
        return XP
    return RoundedNamespace(PerturbedRun(*noise))


def noise_of(xp: Any) -> Any:
    """The number and dtype of a namespace's noise, by which a witness makes it again; None without noise."""
    if not isinstance(xp, RoundedNamespace):
        return None
    noise = xp._noise
    return noise.number, noise.dtype
