"""What families of elementwise operators share; shapes broadcast as the contract's `infer` has it."""

from typing import Any, ClassVar

from ..contracts.operator import Operator, TensorSpec


class Elementwise(Operator):
    """So many operations per element."""

    cost: ClassVar[int] = 1

    def flops(self, *inputs: Any) -> int:
        return self.cost * self.infer(*inputs)[0].size


class Flat(Operator):
    """Constant between its jumps: the derivative is 0."""

    def backward(self, xp, dy):
        return xp.zeros_like(dy)


class Predicate(Operator):
    """True or false for every element, without a derivative."""

    def infer(self, *inputs: Any) -> tuple[TensorSpec, ...]:
        (y,) = super().infer(*inputs)
        return (TensorSpec(y.shape, "bool"),)


class Variadic(Operator):
    """Any number of inputs; every one after the first costs an operation."""

    def flops(self, *inputs: Any) -> int:
        return max(1, len(inputs) - 1) * self.infer(*inputs)[0].size


class ElementwiseExtreme(Variadic):
    """One of the inputs: the gradient goes to it, in equal parts where several are the same."""

    def backward(self, xp, dy, y, xs):
        chosen = [xp.astype(x == y, dy.dtype) for x in xs]
        share = dy / sum(chosen[1:], chosen[0])
        return tuple(share * c for c in chosen)
