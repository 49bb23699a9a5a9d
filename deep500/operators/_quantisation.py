"""What operators on quantised values share: scales that are spread over a tensor, rounding, saturation."""

from ..contracts.axis_ranges import of_first_input
from ..contracts.dtypes import limits
from .round import Round


def nearest(xp, x):
    """The nearest whole number, the even one of two."""
    return Round().forward(xp, x)


def axes_with_scales(operator, x, scale, zero_point=None):
    """The axes that have scales of their own; None for one scale per tensor, which names no axis."""
    return None if scale.size == 1 else of_first_input(operator, x)


def spread(xp, value, shape, axis, block_size=0):
    """A scale or zero point per tensor, per slice along an axis or per block, such that it broadcasts to a shape."""
    if value.ndim == 0 or tuple(value.shape) == (1,):
        return xp.reshape(value, ())
    axis %= len(shape)
    if not block_size:
        return xp.reshape(value, [-1 if i == axis else 1 for i in range(len(shape))])
    copies = xp.expand_dims(value, axis + 1)
    copies = xp.broadcast_to(
        copies, (*copies.shape[: axis + 1], block_size, *copies.shape[axis + 2 :])
    )
    whole = xp.reshape(copies, (*shape[:axis], -1, *shape[axis + 1 :]))
    return whole[(slice(None),) * axis + (slice(0, shape[axis]),)]


def gathered(xp, gradient, value, axis, block_size=0):
    """The adjoint of `spread`: what a gradient of the spread value is for the value itself."""
    if value.ndim == 0 or tuple(value.shape) == (1,):
        return xp.reshape(xp.sum(gradient), value.shape)
    axis %= gradient.ndim
    if not block_size:
        return xp.sum(gradient, axis=tuple(i for i in range(gradient.ndim) if i != axis))
    lacking = value.shape[axis] * block_size - gradient.shape[axis]
    full = xp.pad(gradient, [(0, lacking if i == axis else 0) for i in range(gradient.ndim)])
    blocks = (*value.shape[: axis + 1], block_size, *value.shape[axis + 1 :])
    return xp.sum(xp.reshape(full, blocks), axis=axis + 1)


def quantised(xp, x, zero, dtype):
    """A float32 x rounded, moved by the zero point (or None) and held within an integer dtype."""
    low, high = limits(dtype)
    x = nearest(xp, x)
    x = x if zero is None else x + xp.astype(zero, "float32")
    return xp.astype(xp.astype(xp.clip(x, low, high), "int32"), dtype)


def centred(xp, x, zero, dtype="int32"):
    """x without its zero point (or None)."""
    wide = xp.astype(x, dtype)
    return wide if zero is None else wide - xp.astype(zero, dtype)


def per_row(xp, value, matrix):
    """A scale or zero point of the left factor: one per row as a column."""
    return (
        value if value is None or value.ndim != 1 or matrix.ndim < 2 else xp.expand_dims(value, -1)
    )


def per_kernel(xp, value, kernels):
    """A scale or zero point of a convolution's kernels: one per output channel along their first axis."""
    return (
        value
        if value is None or value.ndim != 1
        else xp.reshape(value, (-1, *[1] * (kernels.ndim - 1)))
    )
