import math

from ..contracts.operator import Operator, TensorSpec, case
from ._indexing import take_adjoint


class MaxRoiPool(Operator):
    """Every region (batch, x1, y1, x2, y2), both ends included, as an array of bins: the largest element of each."""

    pooled_shape: tuple[int, int]
    spatial_scale: float = 1.0

    def forward(self, xp, x, rois):
        pictures, rows, columns = self._parts(xp, x, rois)
        # shape (region, channel, y, bin)
        inner = xp.max(xp.where(columns, xp.expand_dims(pictures, 3), -math.inf), axis=4)
        lines = xp.expand_dims(xp.permute_dims(inner, (0, 1, 3, 2)), 2)
        y = xp.max(xp.where(rows, lines, -math.inf), axis=4)
        return xp.where(y > -math.inf, y, 0)  # a bin outside the picture

    def backward(self, xp, dy, x, rois, y):
        pictures, rows, columns = self._parts(xp, x, rois)
        # shape (region, channel, bin, bin, y, x)
        inside = xp.expand_dims(rows, 5) & xp.expand_dims(columns, 4)
        found = inside & (xp.expand_dims(pictures, (2, 3)) == xp.expand_dims(y, (4, 5)))
        share = xp.astype(found, dy.dtype)
        share = share / xp.maximum(xp.sum(share, axis=(4, 5), keepdims=True), 1)
        dpictures = xp.sum(share * xp.expand_dims(dy, (4, 5)), axis=(2, 3))
        return take_adjoint(xp, dpictures, xp.astype(rois[:, 0], "int64"), x.shape, 0), None

    def infer(self, x, rois):
        return (TensorSpec((rois.shape[0], x.shape[1], *self.pooled_shape), x.dtype),)

    def flops(self, x, rois):
        return rois.shape[0] * math.prod(x.shape[1:])

    def _parts(self, xp, x, rois):
        """The picture of every region, and which rows and columns are in which bin."""
        pictures = xp.take(x, xp.astype(rois[:, 0], "int64"), 0)
        rows = self._bins(xp, rois[:, 2], rois[:, 4], self.pooled_shape[0], x.shape[2])
        columns = self._bins(xp, rois[:, 1], rois[:, 3], self.pooled_shape[1], x.shape[3])
        return pictures, xp.expand_dims(rows, (1, 3)), xp.expand_dims(columns, (1, 2))

    def _bins(self, xp, start, end, count, size):
        """(region, bin, element): whether the element is in the bin."""
        start, end = (_round(xp, edge * self.spatial_scale) for edge in (start, end))
        width = xp.expand_dims(xp.maximum(end - start + 1, 1), 1) / count
        number = xp.arange(count, start.dtype)
        first = xp.floor(number * width) + xp.expand_dims(start, 1)
        behind = -xp.floor(-((number + 1) * width)) + xp.expand_dims(start, 1)
        at = xp.arange(size, start.dtype)
        return (at >= xp.expand_dims(first, 2)) & (at < xp.expand_dims(behind, 2))

    cases = (
        case(
            {"pooled_shape": (2, 2)},
            x=(2, 2, 5, 6),
            rois=[[0.0, 1.0, 0.0, 4.0, 4.0], [1.0, 0.0, 2.0, 5.0, 3.0]],
        ),
        case(
            {"pooled_shape": (1, 3), "spatial_scale": 0.5},
            x=(1, 1, 4, 4),
            rois=[[0.0, 0.0, 2.0, 9.5, 7.0]],
        ),
    )


def _round(xp, x):
    """To the nearest whole number, away from 0 of two."""
    return xp.sign(x) * xp.floor(xp.abs(x) + 0.5)
