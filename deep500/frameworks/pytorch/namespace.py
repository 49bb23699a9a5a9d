"""The namespace over PyTorch."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ...namespace import (
    Axis,
    Namespace,
    Pads,
    bind,
    crop,
    ints,
    left_over,
)
from . import FRAMEWORK


def _pair(f: Callable) -> Callable:
    """f of two tensors, for one tensor and a Python number too."""

    def both(self: Namespace, x: Any, y: Any) -> Tensor:
        x = (
            x
            if isinstance(x, Tensor)
            else torch.as_tensor(x, dtype=y.dtype, device=y.device)
        )
        y = (
            y
            if isinstance(y, Tensor)
            else torch.as_tensor(y, dtype=x.dtype, device=x.device)
        )
        return f(x, y)

    return both


class TorchNamespace(Namespace):
    """Arrays are torch.Tensor; nothing goes through NumPy."""

    abs, exp, log, sqrt = bind(torch.abs, torch.exp, torch.log, torch.sqrt)
    sin, cos, tanh, sign = bind(torch.sin, torch.cos, torch.tanh, torch.sign)
    asin, acos, atan, sinh, cosh = bind(
        torch.asin, torch.acos, torch.atan, torch.sinh, torch.cosh
    )
    expm1, log1p, fmod = bind(torch.expm1, torch.log1p, torch.fmod)
    floor, erf, isnan = bind(torch.floor, torch.erf, torch.isnan)
    logical_not, logical_and, logical_or = bind(
        torch.logical_not, torch.logical_and, torch.logical_or
    )
    pow, where, reshape, permute_dims = bind(
        torch.pow, torch.where, torch.reshape, torch.permute
    )
    broadcast_to, matmul, einsum = bind(torch.broadcast_to, torch.matmul, torch.einsum)
    sigmoid, relu = bind(torch.sigmoid, torch.relu)
    zeros_like, ones_like = bind(torch.zeros_like, torch.ones_like)
    maximum, minimum = _pair(torch.maximum), _pair(torch.minimum)

    def astype(self, x: Tensor, dtype: Any) -> Tensor:
        if (
            kind := _dtype(dtype)
        ) == torch.float8_e4m3fn and x.is_floating_point():  # which has no infinity
            x = torch.where(
                x.abs() > 464, torch.nan, x
            )  # where PyTorch would take the largest number
        return x.to(kind)

    def bitcast(self, x: Tensor, dtype: Any) -> Tensor:
        return x.view(_dtype(dtype))

    def asarray(self, value: Any, dtype: Any) -> Tensor:
        return torch.as_tensor(value, dtype=_dtype(dtype))

    def full(self, shape: Sequence[int], value: float, dtype: Any) -> Tensor:
        return torch.full(tuple(shape), value, dtype=_dtype(dtype))

    def arange(self, n: int, dtype: Any) -> Tensor:
        return torch.arange(n, dtype=_dtype(dtype))

    def concat(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return torch.cat(list(xs), dim=axis)

    def stack(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return torch.stack(list(xs), dim=axis)

    def flip(self, x: Tensor, axis: int | Sequence[int]) -> Tensor:
        return torch.flip(x, ints(axis))

    def enlarge(self, x: Tensor, pads: Pads, value: float) -> Tensor:
        return functional.pad(
            x, [p for pair in reversed(list(pads)) for p in pair], value=value
        )

    def sum(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return torch.sum(x, dim=_axes(x, axis), keepdim=keepdims, dtype=x.dtype)

    def prod(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        for a in sorted(
            (a % x.ndim for a in _axes(x, axis)), reverse=True
        ):  # torch takes one axis at a time
            x = torch.prod(x, dim=a, keepdim=keepdims, dtype=x.dtype)
        return x

    def max(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return torch.amax(x, dim=_axes(x, axis), keepdim=keepdims)

    def min(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return torch.amin(x, dim=_axes(x, axis), keepdim=keepdims)

    def argmax(self, x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
        return torch.argmax(x, dim=axis, keepdim=keepdims)

    def cumulative_sum(self, x: Tensor, axis: int) -> Tensor:
        return torch.cumsum(x, dim=axis, dtype=x.dtype)

    def logsumexp(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return torch.logsumexp(x, dim=_axes(x, axis), keepdim=keepdims)

    def take(self, x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
        axis %= x.ndim
        rows = torch.index_select(x, axis, torch.reshape(indices, (-1,)))
        return torch.reshape(
            rows, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        )

    def take_along_axis(self, x: Tensor, indices: Tensor, axis: int) -> Tensor:
        return torch.gather(x, axis, indices)

    def nonzero(self, x: Tensor) -> Tensor:
        return torch.nonzero(x)

    def scatter_add(
        self, x: Tensor, indices: Tensor, values: Tensor, axis: int
    ) -> Tensor:
        return torch.scatter_add(x, axis, indices, values)

    def sort_descending(self, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        values, indices = torch.sort(x, dim=axis, descending=True, stable=True)
        return values, indices

    def windows(
        self,
        x: Tensor,
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> Tensor:
        """A view: nothing is copied."""
        for k, s, d in zip(kernel, strides, dilations, strict=True):
            x = x.unfold(x.ndim - len(kernel), d * (k - 1) + 1, s)[
                ..., ::d
            ]  # adds an axis at the end
        return x

    def conv(
        self,
        x: Tensor,
        w: Tensor,
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Tensor:
        x, both = self._even(x, pads)
        return torch.convolution(
            x, w, None, strides, both, dilations, False, [0] * len(both), groups
        )

    def conv_transpose(
        self,
        y: Tensor,
        w: Tensor,
        shape: Sequence[int],
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Tensor:
        extra = left_over(shape, y.shape[2:], w.shape[2:], strides, pads, dilations)
        x = torch.convolution(
            y, w, None, strides, [0] * len(extra), dilations, True, extra, groups
        )
        return crop(x, shape, pads)

    def conv_weight(
        self,
        x: Tensor,
        y: Tensor,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Tensor:
        x, both = self._even(x, pads)
        w = x.new_empty(
            (y.shape[1], x.shape[1] // groups, *kernel)
        )  # only its shape is read
        return torch.ops.aten.convolution_backward(
            y,
            x,
            w,
            None,
            strides,
            both,
            dilations,
            False,
            [0] * len(both),
            groups,
            (False, True, False),
        )[1]

    def host(
        self, function: Callable, kinds: Sequence[Any], *xs: Tensor
    ) -> list[Tensor]:
        return [FRAMEWORK.tensor(y) for y in function(*map(FRAMEWORK.array, xs))]

    def _even(self, x: Tensor, pads: Pads) -> tuple[Tensor, list[int]]:
        """PyTorch pads both ends alike: anything else is padded here."""
        if all(lo == hi for lo, hi in pads):
            return x, [lo for lo, _ in pads]
        return self.pad(x, [(0, 0), (0, 0), *pads]), [0] * len(pads)


def _dtype(dtype: Any) -> torch.dtype:
    return getattr(torch, FRAMEWORK.dtype(dtype)) if isinstance(dtype, str) else dtype


def _axes(x: Tensor, axis: Axis) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else ints(axis)
