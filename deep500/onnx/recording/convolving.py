"""The gradient of a convolution by its kernels, as products of matrices."""

import math
from collections.abc import Sequence
from typing import Any

from ...namespace import Namespace, Pads, elements, offsets

WIDE_KERNEL = (
    16  # elements, from which on a Conv with examples and channels exchanged is faster
)


def conv_weight(
    xp: Namespace,
    x: Any,
    y: Any,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
    groups: int,
) -> Any:
    """The adjoint of `conv` in its kernels, which have this spatial shape.

    Every element of the kernels met x at as many places as y has elements in a channel: the product of these
    with y, for all channels at once, is the gradient by that element.
    """
    channels, features = x.shape[1] // groups, y.shape[1] // groups
    counts = y.shape[2:]
    places = y.shape[0] * math.prod(counts)
    padded = xp.pad(_channels_first(xp, x), [(0, 0), (0, 0), *pads])
    met = []
    for at in offsets(kernel):
        part = padded[(..., *elements(at, counts, strides, dilations))]
        met.append(xp.reshape(part, (groups, channels, places)))
    rows = xp.reshape(_channels_first(xp, y), (groups, features, places))
    weight = _products(xp, rows, met)
    return xp.reshape(weight, (groups * features, channels, *kernel))


def _products(xp: Namespace, rows: Any, met: list[Any]) -> Any:
    """(groups, features, channels, elements): one product of all columns, or one for every element.

    All columns at once are copied once more; that pays where they are few in comparison with the result.
    """
    groups, features, places = rows.shape
    channels = met[0].shape[1]
    if len(met) == 1:
        return xp.matmul(rows, _transposed(xp, met[0]))
    if places > 8 * features and channels >= 64:
        products = [xp.matmul(rows, _transposed(xp, part)) for part in met]
        return xp.stack(products, axis=3)
    columns = xp.reshape(xp.stack(met, axis=2), (groups, channels * len(met), places))
    return xp.matmul(rows, _transposed(xp, columns))


def _channels_first(xp: Namespace, x: Any) -> Any:
    return xp.permute_dims(x, (1, 0, *range(2, x.ndim)))


def _transposed(xp: Namespace, x: Any) -> Any:
    return xp.permute_dims(x, (0, 2, 1))
