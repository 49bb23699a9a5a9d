"""Updates written into a copy of data, and how gradients flow back: the ways to combine them, written once.

`indices` are shaped as updates and count along an axis; the other axes of updates may be shorter than those of data.
"""

from typing import Literal

from ._indexing import upwards
from ._products import others

Combination = Literal["none", "add", "mul", "max", "min"]
# PyTorch's names of the reductions
TORCH = {
    "add": "sum",
    "mul": "prod",
    "max": "amax",
    "min": "amin",
}


def scatter(xp, data, indices, updates, axis, reduction):
    indices = upwards(xp, indices, data.shape[axis])
    if reduction == "none":
        written = xp.scatter_add(xp.zeros_like(data), indices, updates, axis)
        return xp.where(_hits(xp, data, indices, axis) > 0, written, data)
    if reduction == "add":
        return xp.scatter_add(data, indices, updates, axis)
    return _combined(xp, data, indices, updates, axis, reduction)


def scatter_gradients(xp, dy, data, indices, updates, y, axis, reduction):
    """The gradients of data and of updates."""
    indices = upwards(xp, indices, data.shape[axis])

    def at(x):
        return xp.take_along_axis(_reached(x, indices, axis), indices, axis)

    if reduction == "none":
        return xp.where(_hits(xp, data, indices, axis) > 0, xp.zeros_like(dy), dy), at(dy)
    if reduction == "add":
        return dy, at(dy)
    if reduction == "mul":
        zeros = xp.scatter_add(_equal(xp, data, 0), indices, _equal(xp, updates, 0), axis)
        kept = [xp.where(x == 0, xp.ones_like(x), x) for x in (data, updates)]
        product = _combined(xp, kept[0], indices, kept[1], axis, "mul")
        return dy * others(xp, data, zeros, product), at(dy) * others(
            xp, updates, at(zeros), at(product)
        )
    # all elements that equal the extreme share the gradient
    by_data, by_updates = (
        _equal(xp, data, y),
        _equal(xp, updates, at(y)),
    )
    share = dy / xp.maximum(xp.scatter_add(by_data, indices, by_updates, axis), 1)
    return share * by_data, at(share) * by_updates


def _combined(xp, data, indices, updates, axis, reduction):
    """Every update compared with every place along the axis: slower than a kernel made for it, right everywhere."""
    if 0 in updates.shape:
        return data
    reached = _reached(data, indices, axis)
    places = xp.reshape(xp.arange(data.shape[axis], "int64"), (-1, *[1] * (data.ndim - 1 - axis)))
    hit = xp.expand_dims(indices, axis + 1) == places  # (…, updates, places, …)
    old, new = xp.expand_dims(reached, axis), xp.expand_dims(updates, axis + 1)
    if reduction == "mul":
        found = reached * xp.prod(xp.where(hit, new, xp.ones_like(old)), axis=axis)
    elif reduction == "max":
        found = xp.maximum(reached, xp.max(xp.where(hit, new, old), axis=axis))
    else:
        found = xp.minimum(reached, xp.min(xp.where(hit, new, old), axis=axis))
    rest = [(0, n - m) for n, m in zip(data.shape, found.shape, strict=True)]
    inside = xp.pad(xp.full(found.shape, 1, "int64"), rest)
    return xp.where(inside > 0, xp.pad(found, rest), data)


def _reached(x, indices, axis):
    """The part of x that updates can reach."""
    return x[tuple(slice(0, x.shape[i] if i == axis else n) for i, n in enumerate(indices.shape))]


def _hits(xp, data, indices, axis):
    """How many updates go to each place."""
    return xp.scatter_add(
        xp.zeros(data.shape, "int64"), indices, xp.full(indices.shape, 1, "int64"), axis
    )


def _equal(xp, x, y):
    return xp.astype(x == y, x.dtype)
