"""What is right by an operator's own code, or by a reference: in float64, in a process of its own or in this one."""

from collections.abc import Sequence
from typing import Any

from ...contracts.framework import gradient_formula
from ...contracts.operator import Operator
from .examples import XP, Reference
from .rounding import Noise, RoundedNamespace


class Witness:
    """Every method takes and returns NumPy arrays; `noise` names the errors that are made on the way."""

    def __init__(self, reference: Reference | None = None):
        self.called = reference

    def results(self, operator: Operator, inputs: Sequence[Any], noise: Any) -> tuple:
        return operator.run(_namespace(noise), *inputs)

    def derived(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        seeds: Sequence[Any],
        noise: Any,
    ) -> list:
        return gradient_formula(_namespace(noise), operator, inputs, seeds)

    def each(self, method: str, calls: Sequence[Sequence[Any]]) -> list:
        """Several calls of one method."""
        return [getattr(self, method)(*call) for call in calls]

    def infer(self, operator: Operator, tensors: Sequence[Any]) -> tuple:
        return operator.infer(*tensors)

    def flops(self, operator: Operator, tensors: Sequence[Any]) -> float:
        return float(operator.flops(*tensors))

    def reference(self, inputs: Sequence[Any]) -> Any:
        assert self.called is not None  # only asked where there is one
        return self.called(*inputs)


def _namespace(noise: Any) -> Any:
    if noise is None:
        return XP
    return RoundedNamespace(Noise(*noise))


def noise_of(xp: Any) -> Any:
    """The noise of a namespace, as it is named to a witness."""
    if not isinstance(xp, RoundedNamespace):
        return None
    return xp._noise.number, xp._noise.dtype
