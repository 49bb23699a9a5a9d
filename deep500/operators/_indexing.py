"""Indices as the namespace takes them, and the adjoint of taking."""

import math

from ..errors import Deep500Error


def upwards(xp, indices, size):
    """int64 indices into an axis of this length, all counted from the front."""
    indices = xp.astype(indices, "int64")
    return xp.where(indices < 0, indices + size, indices)


def check_indices(indices, size):
    """Refuse NumPy indices that an axis of this length does not have: some frameworks take another element, or NaN."""
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        raise Deep500Error(
            f"index {indices[wrong].flat[0]} is out of range: an axis of {size} has those from {-size} to {size - 1}"
        )


def check_index_vectors(indices, sizes):
    """The same for vectors of indices along the last axis, one for each of the first axes."""
    for place, size in enumerate(sizes[: indices.shape[-1]]):
        check_indices(indices[..., place], size)


def take_adjoint(xp, dy, indices, shape, axis):
    """The adjoint of `take` from an array of this shape: every element added back to where it was taken from."""
    axis %= len(shape)
    before, after = tuple(shape[:axis]), tuple(shape[axis + 1 :])
    rows = xp.reshape(dy, (*before, math.prod(indices.shape), *after))
    places = xp.reshape(indices, (*[1] * axis, -1, *[1] * len(after)))
    return xp.scatter_add(
        xp.zeros(shape, dy.dtype), xp.broadcast_to(places, rows.shape), rows, axis
    )


def row_numbers(xp, indices, shape, batch_dims=0):
    """The number of the row that each vector of indices points to, where the axes it indexes are flattened to one."""
    depth = indices.shape[-1]
    sizes = shape[batch_dims : batch_dims + depth]
    rows = xp.zeros(indices.shape[:-1], "int64")
    for k, size in enumerate(sizes):
        rows = rows * size + upwards(xp, indices[..., k], size)
    batches = xp.reshape(
        xp.arange(math.prod(shape[:batch_dims]), "int64") * math.prod(sizes),
        (*shape[:batch_dims], *[1] * (indices.ndim - 1 - batch_dims)),
    )
    return rows + batches if batch_dims else rows
