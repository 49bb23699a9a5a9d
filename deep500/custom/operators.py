"""What all custom operators share: they run on NumPy arrays, and become Operators for everything else."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..contracts.dtypes import name_of
from ..contracts.operator import (
    Adapted,
    Operator,
    Tensor,
    case,
)
from ..errors import Deep500Error
from ..namespace import kind
from .description import Signature

Arrays = Sequence[np.ndarray]


class CustomOp(Adapted):
    """An operator from outside. `run` and `gradients` work on NumPy arrays, and neither copies nor keeps them."""

    signature: Signature
    differentiable: bool = True

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def attributes(self) -> dict[str, Any]:
        """The settings, for reports."""
        return {}

    @property
    def labels(self) -> tuple[str, ...]:
        """What its own code calls its inputs; fewer than there are, or none, where that is not known."""
        return ()

    @abstractmethod
    def run(self, inputs: Arrays) -> tuple[np.ndarray, ...]:
        """The outputs, each in memory of its own."""

    @abstractmethod
    def gradients(
        self, grads: Arrays, inputs: Arrays, outputs: Arrays
    ) -> tuple[np.ndarray, ...]:
        """One gradient per input, of its shape and dtype."""

    @abstractmethod
    def infer(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Shapes and dtypes of the outputs; refuses inputs that do not match."""

    def try_gradients(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> None:
        """Refuse gradients of a wrong shape now: inside a framework's callback an error would lose its words."""

    def in_dtype(self, dtype: str) -> "CustomOp":
        """The same operator computing in this float dtype, where it is bound to one."""
        return self

    @cached_property
    def operator(self) -> "Custom":
        """This as an Operator: for networks, checks and benchmarks."""
        base = Differentiable if self.differentiable else Custom
        shapes = [
            (4, 6)
            if d.shape is None
            else tuple(3 if isinstance(n, str) else n for n in d.shape)
            for d in self.signature.inputs
        ]
        kinds = [
            shape if "float" in (d.dtype or "float") else Tensor(shape, str(d.dtype))
            for shape, d in zip(shapes, self.signature.inputs, strict=True)
        ]
        body = {
            "__doc__": type(self).__doc__,
            "cases": (case(self.attributes, xs=kinds),),
            "arity": len(shapes),
            "labels": self.labels,
        }
        return type(self.name, (base,), body)(self)

    def kinds(self, inputs: Sequence[Any]) -> tuple[Tensor, ...]:
        """What `infer` says to values of any framework; a size of None, not known yet, is one in the result too."""
        given = [(tuple(x.shape), name_of(x.dtype)) for x in inputs]
        if not any(n is None for shape, _ in given for n in shape):
            return self.infer(*(Tensor(*kind) for kind in given))
        tried = [
            self.infer(
                *(
                    Tensor(tuple(size if n is None else n for n in shape), dtype)
                    for shape, dtype in given
                )
            )
            for size in (2, 3)
        ]
        unknown: Any = None
        return tuple(
            Tensor(
                tuple(
                    n if n == m else unknown
                    for n, m in zip(a.shape, b.shape, strict=True)
                ),
                a.dtype,
            )
            for a, b in zip(*tried, strict=True)
        )


class Custom(Operator):
    """A custom operator as any other; its formula is the user's code, called with the namespace's arrays."""

    domain: ClassVar[str] = "deep500.custom"
    outputs: ClassVar[tuple[str, ...]] = ("*ys",)
    op: CustomOp

    def forward(self, xp, *xs):  # an annotation would make them static
        op = self._fitting(xs)
        return tuple(xp.host(lambda *arrays: op.run(arrays), op.kinds(xs), *xs))

    def infer(self, *xs: Tensor) -> tuple[Tensor, ...]:
        return self.op.infer(*xs)

    @property
    def settings(self) -> dict[str, Any]:
        return self.op.attributes

    @property
    def adapted(self) -> CustomOp:
        return self.op

    def _fitting(self, xs: Sequence[Any]) -> CustomOp:
        """Checks compute the truth in float64, which an operator bound to float32 would refuse."""
        floats = [name for x in xs if "float" in (name := name_of(x.dtype))]
        return self.op.in_dtype(floats[0]) if floats else self.op


class Differentiable(Custom):
    """One with a backward."""

    def backward(self, xp: Any, xs: tuple, ys: tuple, dys: tuple) -> tuple:
        op, n, m = self._fitting(xs), len(xs), len(ys)

        def gradients(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
            return op.gradients(arrays[:m], arrays[m : m + n], arrays[m + n :])

        kinds, made = (
            tuple(Tensor(tuple(x.shape), name_of(x.dtype)) for x in some)
            for some in (xs, ys)
        )
        op.try_gradients(kinds, made)
        return tuple(xp.host(gradients, kinds, *dys, *xs, *ys))

    def gradients(
        self, xp: Any, grads: Sequence, inputs: Sequence, results: Sequence
    ) -> list:
        """Each is of its input's shape already: nothing is summed."""
        found = self.backward(xp, tuple(inputs), tuple(results), tuple(grads))
        return [
            g if kind(x) == "float" else None
            for g, x in zip(found, inputs, strict=True)
        ]


def as_operator(value: Any) -> Operator:
    """An Operator from one, or from a custom operator."""
    if isinstance(value, CustomOp):
        return value.operator
    if isinstance(value, Operator):
        return value
    raise Deep500Error(
        f"{value!r} is no operator: give an Operator, a CustomPythonOp or what compile_custom_cppop "
        "returned"
    )


def one_or_all(results: Sequence[Any]) -> Any:
    """The only result by itself, several as a tuple."""
    return results[0] if len(results) == 1 else tuple(results)


class HostFunction:
    """A custom operator as a function of NumPy arrays, with its derivative beside it."""

    def __init__(self, op: CustomOp):
        self.op = op

    def __call__(self, *inputs: Any) -> Any:
        arrays = [np.asarray(x) for x in inputs]
        self.op.kinds(arrays)
        return one_or_all(self.op.run(arrays))

    def backward(
        self, grads: Sequence[Any], inputs: Sequence[Any]
    ) -> tuple[np.ndarray, ...]:
        """One gradient per input, from one per output."""
        if not self.op.differentiable:
            raise Deep500Error(f"{self.op.name} has no backward")
        arrays = [np.asarray(x) for x in inputs]
        self.op.kinds(arrays)
        return self.op.gradients(
            [np.asarray(g) for g in grads], arrays, self.op.run(arrays)
        )
