"""The gradient of a convolution with respect to its kernels, computed as matrix products."""

import math
from collections.abc import Sequence
from typing import Any

from ...namespace import Namespace, Pads, elements, offsets

# Kernels of more elements than this are faster as a Conv with examples and channels exchanged.
WIDE_KERNEL = 16


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

    Every element of the kernels is multiplied with x at as many positions as y has elements in a channel: the product
    of x there with y, for all channels at once, is the gradient with respect to that element.
    """
    channels = x.shape[1] // groups
    features = y.shape[1] // groups
    counts = y.shape[2:]
    positions = y.shape[0] * math.prod(counts)
    all_pads = [(0, 0), (0, 0), *pads]
    padded = xp.pad(_channels_first(xp, x), all_pads)
    parts = []
    for offset in offsets(kernel):
        window = elements(offset, counts, strides, dilations)
        part = padded[(..., *window)]
        part = xp.reshape(part, (groups, channels, positions))
        parts.append(part)
    rows = _channels_first(xp, y)
    rows = xp.reshape(rows, (groups, features, positions))
    weight = _products(xp, rows, parts)
    return xp.reshape(weight, (groups * features, channels, *kernel))


def _products(xp: Namespace, rows: Any, parts: list[Any]) -> Any:
    """(groups, features, channels, elements): one product of all columns, or one for every element.

    One product copies all columns once more, which pays if they are few in comparison with the result.
    """
    groups, features, positions = rows.shape
    channels = parts[0].shape[1]
    if len(parts) == 1:
        return xp.matmul(rows, _transposed(xp, parts[0]))
    if positions > 8 * features and channels >= 64:
        products = [xp.matmul(rows, _transposed(xp, part)) for part in parts]
        return xp.stack(products, axis=3)
    columns = xp.stack(parts, axis=2)
    column_count = channels * len(parts)
    columns = xp.reshape(columns, (groups, column_count, positions))
    return xp.matmul(rows, _transposed(xp, columns))


def _channels_first(xp: Namespace, x: Any) -> Any:
    spatial = range(2, x.ndim)
    return xp.permute_dims(x, (1, 0, *spatial))


def _transposed(xp: Namespace, x: Any) -> Any:
    return xp.permute_dims(x, (0, 2, 1))
