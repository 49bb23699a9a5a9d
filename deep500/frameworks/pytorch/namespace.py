"""The namespace of array functions over PyTorch."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ...contracts.device import HOST
from ...contracts.framework import Framework
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
    """A function of two tensors as one that takes a Python number in place of either."""

    def both(self: "TorchNamespace", x: Any, y: Any) -> Tensor:
        if not isinstance(x, Tensor):
            x = self.beside(x, y)
        if not isinstance(y, Tensor):
            y = self.beside(y, x)
        return f(x, y)

    return both


class TorchNamespace(Namespace):
    """Arrays are torch.Tensor; nothing goes through NumPy."""

    calls_back = True

    def __init__(self, framework: Framework = FRAMEWORK):
        self.framework = framework
        self.device = framework.device

    @property
    def threads(self) -> int:  # type: ignore[override]
        return torch.get_num_threads()

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
        torch_dtype = _dtype(dtype)
        if torch_dtype == torch.float8_e4m3fn and x.is_floating_point():
            # values out of range are nan, since the dtype has no infinity; PyTorch would take the largest number
            x = torch.where(x.abs() > 464, torch.nan, x)
        return x.to(torch_dtype)

    def bitcast(self, x: Tensor, dtype: Any) -> Tensor:
        return x.view(_dtype(dtype))

    def beside(self, value: Any, tensor: Tensor) -> Tensor:
        """A number as a tensor of the dtype of another, and where that is."""
        if self.device == HOST:
            return torch.as_tensor(value, dtype=tensor.dtype, device=tensor.device)
        return self.asarray(value, tensor.dtype)

    def asarray(self, value: Any, dtype: Any) -> Tensor:
        torch_dtype = _dtype(dtype)
        if self.device == HOST:
            return torch.as_tensor(value, dtype=torch_dtype)
        if _is_scalar(value):  # a kernel writes it: nothing is copied
            return torch.full((), value, dtype=torch_dtype, device=self.device)
        if isinstance(value, Tensor) and value.device.type != HOST:
            return value.to(self.device, torch_dtype)
        return self.framework.tensor(torch.as_tensor(value, dtype=torch_dtype))

    def full(self, shape: Sequence[int], value: float, dtype: Any) -> Tensor:
        return torch.full(tuple(shape), value, dtype=_dtype(dtype), device=self.device)

    def arange(self, n: int, dtype: Any) -> Tensor:
        return torch.arange(n, dtype=_dtype(dtype), device=self.device)

    def concat(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return torch.cat(list(xs), dim=axis)

    def stack(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return torch.stack(list(xs), dim=axis)

    def flip(self, x: Tensor, axis: int | Sequence[int]) -> Tensor:
        return torch.flip(x, ints(axis))

    def enlarge(self, x: Tensor, pads: Pads, value: float) -> Tensor:
        last_axis_first: list[int] = []
        for pair in reversed(list(pads)):
            last_axis_first.extend(pair)
        return functional.pad(x, last_axis_first, value=value)

    def sum(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return torch.sum(x, dim=_axes(x, axis), keepdim=keepdims, dtype=x.dtype)

    def prod(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        axes = [a % x.ndim for a in _axes(x, axis)]
        for a in sorted(axes, reverse=True):  # torch.prod takes a single axis
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
        flat_indices = torch.reshape(indices, (-1,))
        rows = torch.index_select(x, axis, flat_indices)
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        return torch.reshape(rows, (*before, *indices.shape, *after))

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
        """Return a view: nothing is copied."""
        for k, s, d in zip(kernel, strides, dilations, strict=True):
            axis = x.ndim - len(kernel)
            span = d * (k - 1) + 1
            x = x.unfold(axis, span, s)[..., ::d]  # adds an axis at the end
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
        extra = [0] * len(both)
        return torch.convolution(
            x, w, None, strides, both, dilations, False, extra, groups
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
        sizes, kernel = y.shape[2:], w.shape[2:]
        extra = left_over(shape, sizes, kernel, strides, pads, dilations)
        no_pads = [0] * len(extra)
        x = torch.convolution(
            y, w, None, strides, no_pads, dilations, True, extra, groups
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
        features, channels = y.shape[1], x.shape[1] // groups
        w = x.new_empty((features, channels, *kernel))  # only its shape is read
        extra = [0] * len(both)
        only_weight = (False, True, False)
        _, gradient, _ = torch.ops.aten.convolution_backward(
            y,
            x,
            w,
            None,
            strides,
            both,
            dilations,
            False,
            extra,
            groups,
            only_weight,
        )
        return gradient

    def host(
        self, function: Callable, kinds: Sequence[Any], *xs: Tensor
    ) -> list[Tensor]:
        outputs = function(*map(self.framework.array, xs))
        return [self.framework.tensor(y) for y in outputs]

    def _even(self, x: Tensor, pads: Pads) -> tuple[Tensor, list[int]]:
        """The input, padded here where the two ends of an axis differ, and the pads that are left to PyTorch."""
        if all(lo == hi for lo, hi in pads):
            return x, [lo for lo, _ in pads]
        padded = self.pad(x, [(0, 0), (0, 0), *pads])
        return padded, [0] * len(pads)


def _is_scalar(value: Any) -> bool:
    """Whether this is a number of Python's that PyTorch takes as one."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return isinstance(value, float)


def _dtype(dtype: Any) -> torch.dtype:
    if isinstance(dtype, str):
        return getattr(torch, FRAMEWORK.dtype(dtype))
    return dtype


def _axes(x: Tensor, axis: Axis) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return ints(axis)
