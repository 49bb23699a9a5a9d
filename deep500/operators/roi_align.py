from typing import Annotated, Literal

from ..contracts.operator import Operator, TensorSpec, case
from ..contracts.setting_ranges import Allowed
from ..errors import Unsupported
from ._indexing import take_adjoint, upwards
from ._sampling import (
    Tap,
    corners,
    linear_taps,
    neighbours,
    put_back,
)

Coordinates = Literal["half_pixel", "output_half_pixel"]


class RoiAlign(Operator):
    """Every region (x1, y1, x2, y2) of a picture as an array of bins: the mean, or the largest, of points in each.

    As ONNX has it, the largest is taken of the weighed neighbours of the points one by one.
    """

    since = 16
    coordinate_transformation_mode: Coordinates = "half_pixel"
    mode: Literal["avg", "max"] = "avg"
    output_height: int = 1
    output_width: int = 1
    sampling_ratio: Annotated[int, Allowed(0)] = 0
    spatial_scale: float = 1.0
    integers = ("batch_indices",)

    def forward(self, xp, x, rois, batch_indices):
        parts = self._parts(xp, x, rois, batch_indices)[2]
        y = (
            xp.mean(xp.sum(parts, axis=2), axis=-1)
            if self.mode == "avg"
            else xp.max(parts, axis=(2, 4))
        )
        return xp.reshape(y, self._shape(x, rois))

    def backward(self, xp, dy, x, rois, batch_indices):
        pictures, at, parts = self._parts(xp, x, rois, batch_indices)
        weight = xp.reshape(at.weight, (rois.shape[0], 1, 4, *parts.shape[3:]))
        dbins = xp.reshape(dy, (*dy.shape[:2], 1, parts.shape[3], 1))
        if self.mode == "avg":
            dvalues = dbins * weight / parts.shape[4] + xp.zeros_like(parts)
        else:
            best = xp.astype(parts == xp.max(parts, axis=(2, 4), keepdims=True), dy.dtype)
            dvalues = dbins * weight * best / xp.sum(best, axis=(2, 4), keepdims=True)
        dpictures = put_back(xp, dvalues, pictures, at)
        return (
            take_adjoint(xp, dpictures, upwards(xp, batch_indices, x.shape[0]), x.shape, 0),
            None,
            None,
        )

    def infer(self, x, rois, batch_indices):
        return (TensorSpec(self._shape(x, rois), x.dtype),)

    def flops(self, x, rois, batch_indices):
        return self.infer(x, rois, batch_indices)[0].size * 8 * max(1, self.sampling_ratio) ** 2

    def _shape(self, x, rois):
        return rois.shape[0], x.shape[1], self.output_height, self.output_width

    def _parts(self, xp, x, rois, batch_indices):
        """The picture of every region, the neighbours of its points, and those weighed: (…, neighbour, bin, point)."""
        pictures = xp.take(x, upwards(xp, batch_indices, x.shape[0]), 0)
        at = self._corners(xp, rois, x.shape[2:])
        parts = neighbours(xp, pictures, at) * xp.expand_dims(at.weight, 1)
        bins = self.output_height * self.output_width
        return pictures, at, xp.reshape(parts, (*parts.shape[:3], bins, self.sampling_ratio**2))

    def _corners(self, xp, rois, sizes):
        if not self.sampling_ratio:
            raise Unsupported(
                "RoiAlign with sampling_ratio 0 takes as many points as a region is large, which its "
                "shape does not tell: set sampling_ratio"
            )
        n, counts = rois.shape[0], (self.output_height, self.output_width)
        lines = [self._line(xp, rois[:, 1 - k], rois[:, 3 - k], counts[k]) for k in range(2)]
        inner = [self._known(xp, at, size) for at, size in zip(lines, sizes, strict=True)]
        taps = []
        for k, (at, size) in enumerate(zip(lines, sizes, strict=True)):
            shape = [
                (n, counts[0], 1, self.sampling_ratio, 1),
                (n, 1, counts[1], 1, self.sampling_ratio),
            ][k]
            points = (n, counts[0], counts[1], self.sampling_ratio, self.sampling_ratio)
            found = linear_taps(xp, xp.clip(at, 0, size - 1), size)
            taps.append(
                [
                    Tap(
                        *(
                            xp.reshape(xp.broadcast_to(xp.reshape(part, shape), points), (n, -1))
                            for part in (tap.index, tap.weight * inner[k], tap.slope)
                        )
                    )
                    for tap in found
                ]
            )
        return corners(xp, taps, sizes)

    def _line(self, xp, start, end, count):
        """The coordinates of the points along one axis: (regions, bins, points)."""
        half = 0.5 if self.coordinate_transformation_mode == "half_pixel" else 0.0
        start, end = start * self.spatial_scale - half, end * self.spatial_scale - half
        length = end - start if half else xp.maximum(end - start, 1.0)
        ratio = self.sampling_ratio
        steps = [[(bin + (i + 0.5) / ratio) / count for i in range(ratio)] for bin in range(count)]
        return xp.expand_dims(start, (1, 2)) + xp.expand_dims(length, (1, 2)) * xp.asarray(
            steps, start.dtype
        )

    def _known(self, xp, at, size):
        """0 for points that are more than an element away from the picture."""
        return xp.astype((at >= -1) & (at <= size), at.dtype)

    cases = (
        case(
            {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.5},
            x=(2, 2, 5, 6),
            rois=[[0.3, 1.1, 8.2, 7.4], [-3.1, 2.2, 5.3, 13.7]],
            batch_indices=[1, 0],
        ),
        case(
            {
                "mode": "max",
                "sampling_ratio": 1,
                "output_width": 2,
                "coordinate_transformation_mode": "output_half_pixel",
            },
            x=(1, 2, 4, 4),
            rois=[[0.2, 0.4, 3.1, 2.9], [1.3, 1.2, 1.4, 1.3]],
            batch_indices=[0, 0],
        ),
    )


class RoiAlign_10(RoiAlign):
    """Of opsets 10 to 15, where pixels were not centred."""

    since = 10
    coordinate_transformation_mode: Coordinates = "output_half_pixel"
