from typing import Literal

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)
from ._indexing import take_adjoint

Mode = Literal["constant", "edge", "reflect", "wrap"]


class Pad(Operator):
    """x with more elements (or fewer: a negative amount) at both ends of its axes.

    `pads` lists all beginnings, then all ends. New elements are constant, the nearest ones (edge), mirrored (reflect)
    or those from the other end (wrap).
    """

    since = 11
    axis_range = of_first_input
    mode: Mode = "constant"

    def forward(  # type: ignore[no-untyped-def]
        self,
        xp,
        data,
        pads: Ints,
        constant_value: int | float | None = None,
        axes: Ints = None,
    ):
        amounts = _amounts(data.shape, pads, axes)
        if self.mode == "constant":
            return xp.pad(data, amounts, constant_value or 0)
        for axis, places in self._places(data.shape, amounts):
            data = xp.take(data, xp.asarray(places, "int64"), axis)
        return data

    def backward(self, xp, dy, data, pads, axes):
        amounts = _amounts(data.shape, pads, axes)
        if self.mode == "constant":
            return xp.pad(dy, [(-lo, -hi) for lo, hi in amounts])
        for axis, places in self._places(data.shape, amounts):
            shape = (*dy.shape[:axis], data.shape[axis], *dy.shape[axis + 1 :])
            dy = take_adjoint(xp, dy, xp.asarray(places, "int64"), shape, axis)
        return dy

    def native(self, framework):
        return super().native(framework) if self.mode == "constant" else None

    def pytorch(self, torch, data, pads, constant_value=None, axes=None):
        amounts = reversed(_amounts(data.shape, pads, axes))
        return torch.nn.functional.pad(
            data, [p for pair in amounts for p in pair], value=constant_value or 0
        )

    def jax(self, jax, data, pads, constant_value=None, axes=None):
        value = jax.numpy.asarray(constant_value or 0, data.dtype)
        return jax.lax.pad(
            data, value, [(lo, hi, 0) for lo, hi in _amounts(data.shape, pads, axes)]
        )

    def infer(self, data, pads, constant_value=None, axes=None):
        amounts = _amounts(data.shape, pads, axes)
        return (
            TensorSpec(
                tuple(n + lo + hi for n, (lo, hi) in zip(data.shape, amounts, strict=True)),
                data.dtype,
            ),
        )

    def flops(self, data, pads, constant_value=None, axes=None):
        return 0

    def _places(self, shape, amounts):
        """For every axis that changes, which element of data stands at each place."""
        for axis, (n, (lo, hi)) in enumerate(zip(shape, amounts, strict=True)):
            if lo or hi:
                yield axis, [_place(at, n, self.mode) for at in range(-lo, n + hi)]

    cases = (
        case(data=(2, 3), pads=[0, 1, 2, -1], constant_value=1.5),
        case({"mode": "reflect"}, data=(3, 4), pads=[1, 2, 0, 3]),
        case({"mode": "edge"}, data=(2, 2, 3), pads=[2, 1], axes=[-1]),
        case({"mode": "wrap"}, data=(2, 3), pads=[1, 2, 2, 4]),
    )


class Pad2(Operator):
    """As attributes, in opsets 2 to 10."""

    since = 2
    mode: Mode = "constant"
    value: float = 0.0

    def forward(self, xp, data, pads: Ints):  # type: ignore[no-untyped-def]
        return Pad(self.mode).forward(xp, data, pads, self.value)

    def backward(self, xp, dy, data, pads):
        return Pad(self.mode).backward(xp, dy, data, pads, None)

    def infer(self, data, pads):
        return Pad(self.mode).infer(data, pads)


def _amounts(shape, pads, axes):
    """(before, after) for every axis."""
    amounts, n = [(0, 0)] * len(shape), len(pads) // 2
    for axis, lo, hi in zip(range(n) if axes is None else axes, pads[:n], pads[n:], strict=True):
        amounts[axis] = (lo, hi)
    return amounts


def _place(at, n, mode):
    if mode == "edge":
        return min(max(at, 0), n - 1)
    if mode == "wrap":
        return at % n
    at %= 2 * n - 2 or 1
    return min(at, 2 * n - 2 - at)
