import math
from typing import Literal

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)
from ..namespace import kind
from ._interpolation import (
    Line,
    coordinate,
    cubic,
    kernel_rows,
    linear,
    nearest_rows,
    resample,
    resample_adjoint,
)

Floats = tuple[float, ...] | None


class Resize(Operator):
    """x made larger or smaller along some axes, by scales or to sizes: the nearest elements, or interpolated ones."""

    since = 11
    axis_range = of_first_input
    antialias: int = 0
    axes: Ints = None
    coordinate_transformation_mode: Literal[
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_half_pixel_for_nn",
        "tf_crop_and_resize",
    ] = "half_pixel"
    cubic_coeff_a: float = -0.75
    exclude_outside: int = 0
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: Literal["stretch", "not_larger", "not_smaller"] = "stretch"
    mode: Literal["nearest", "linear", "cubic"] = "nearest"
    nearest_mode: Literal["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] = (
        "round_prefer_floor"
    )

    def forward(  # type: ignore[no-untyped-def]
        self,
        xp,
        x,
        roi: Floats = None,
        scales: Floats = None,
        sizes: Ints = None,
    ):
        y = x if kind(x) == "float" or self.mode == "nearest" else xp.astype(x, "float64")
        for line in self._changed(x.shape, roi, scales, sizes):
            y = resample(xp, y, line.axis, self._rows(line), self.extrapolation_value)
        return xp.astype(y, x.dtype) if y.dtype != x.dtype else y

    def backward(self, xp, dy, x, roi, scales, sizes):
        for line in reversed(self._changed(x.shape, roi, scales, sizes)):
            dy = resample_adjoint(xp, dy, line.axis, self._rows(line), line.size)
        return dy

    def native(self, framework):
        """Where a framework resizes with the same coordinates, weights and ends."""
        known = {"pytorch": self._torch_mode, "jax": self._jax_mode}
        return super().native(framework) if framework not in known or known[framework]() else None

    def pytorch(self, torch, x, roi=None, scales=None, sizes=None):
        if not x.is_floating_point():
            return self.pytorch(torch, x.double(), roi, scales, sizes).to(x.dtype)
        changed = self._changed(x.shape, roi, scales, sizes)
        if x.ndim == 4 and all(line.axis >= 2 for line in changed):
            return self._interpolate(
                torch, x, self._lines(x.shape, roi, scales, sizes)[2:], bool(sizes)
            )
        for line in changed:  # any axis is the height of pictures that are one element wide
            moved = x.movedim(line.axis, -1)
            y = self._interpolate(
                torch, moved.reshape(1, -1, line.size, 1), [line, Line(3, 1, 1, 1.0)], bool(sizes)
            )
            x = y.reshape(*moved.shape[:-1], line.out).movedim(-1, line.axis)
        return x

    def _interpolate(self, torch, x, lines, exact):
        how = (
            {"size": [line.out for line in lines]}
            if exact
            else {"scale_factor": [line.scale for line in lines]}
        )
        smooth = {} if self.mode == "nearest" else {"align_corners": False}
        return torch.nn.functional.interpolate(x, mode=self._torch_mode(), **how, **smooth)

    def _torch_mode(self):
        plain = not self.antialias and self.keep_aspect_ratio_policy == "stretch"
        half = plain and self.coordinate_transformation_mode == "half_pixel"
        if self.mode == "linear":
            return "bilinear" if half else ""
        if self.mode == "cubic":
            return (
                "bicubic"
                if half and self.cubic_coeff_a == -0.75 and not self.exclude_outside
                else ""
            )
        if half and self.nearest_mode == "round_prefer_ceil":
            return "nearest-exact"
        floor = self.coordinate_transformation_mode == "asymmetric" and self.nearest_mode == "floor"
        return "nearest" if plain and floor else ""

    def jax(self, jax, x, roi=None, scales=None, sizes=None):
        lines = self._changed(x.shape, roi, scales, sizes)
        numbers = jax.numpy.asarray([line.scale for line in lines], x.dtype)
        return jax.image.scale_and_translate(
            x,
            self._shape(x.shape, roi, scales, sizes),
            [line.axis for line in lines],
            numbers,
            jax.numpy.zeros_like(numbers),
            self.mode,
            antialias=bool(self.antialias),
        )

    def _jax_mode(self):
        half, inner = (
            self.coordinate_transformation_mode == "half_pixel",
            bool(self.exclude_outside),
        )
        return half and (
            (self.mode == "linear" and (inner or not self.antialias))
            or (self.mode == "cubic" and inner and self.cubic_coeff_a == -0.5)
        )

    def infer(self, x, roi=None, scales=None, sizes=None):
        return (TensorSpec(self._shape(x.shape, roi, scales, sizes), x.dtype),)

    def flops(self, x, roi=None, scales=None, sizes=None):
        """A product and a sum for every weight, axis after axis."""
        total, shape = 0, list(x.shape)
        for line in self._changed(x.shape, roi, scales, sizes):
            shape[line.axis] = line.out
            weights = self._rows(line).weights
            total += 2 * math.prod(shape) * len(weights[0]) if weights else 0
        return total

    def _shape(self, shape, roi, scales, sizes):
        return tuple(line.out for line in self._lines(shape, roi, scales, sizes))

    def _changed(self, shape, roi, scales, sizes):
        return [
            line
            for line in self._lines(shape, roi, scales, sizes)
            if line.scale != 1 or line.out != line.size or line.roi != (0.0, 1.0)
        ]

    def _lines(self, shape, roi, scales, sizes):
        """How every axis changes."""
        axes = [a % len(shape) for a in (range(len(shape)) if self.axes is None else self.axes)]
        if sizes:
            scales = [n / shape[a] for a, n in zip(axes, sizes, strict=True)]
            if self.keep_aspect_ratio_policy != "stretch":
                scales = [
                    (min if self.keep_aspect_ratio_policy == "not_larger" else max)(scales)
                ] * len(axes)
                sizes = [int(s * shape[a] + 0.5) for a, s in zip(axes, scales, strict=True)]
        elif not scales:
            raise ValueError("Resize needs scales or sizes")
        else:
            sizes = [int(s * shape[a]) for a, s in zip(axes, scales, strict=True)]
        crops = self.coordinate_transformation_mode == "tf_crop_and_resize" and bool(roi)
        parts = (
            list(zip(roi[: len(axes)], roi[len(axes) :], strict=True))
            if crops
            else [(0.0, 1.0)] * len(axes)
        )
        lines = [Line(a, n, n, 1.0) for a, n in enumerate(shape)]
        for a, size, scale, part in zip(axes, sizes, scales, parts, strict=True):
            lines[a] = Line(a, shape[a], size, scale, part)
        return lines

    def _rows(self, line):
        places = [coordinate(self.coordinate_transformation_mode, i, line) for i in range(line.out)]
        if self.mode == "nearest":
            return nearest_rows(line, places, self.nearest_mode)
        kernel, radius = (linear, 1) if self.mode == "linear" else (cubic(self.cubic_coeff_a), 2)
        return kernel_rows(
            line, places, kernel, radius, bool(self.antialias), bool(self.exclude_outside)
        )

    cases = (
        case({"mode": "linear"}, x=(2, 1, 3, 4), scales=[1.0, 1.0, 2.0, 0.5]),
        case({"mode": "cubic", "axes": (2, 3)}, x=(1, 2, 4, 3), sizes=[2, 6]),
        case(
            {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
            x=(1, 2, 3, 4),
            scales=[1.0, 1.0, 2.0, 1.5],
        ),
        case(
            {"mode": "linear", "antialias": 1, "exclude_outside": 1},
            x=(1, 1, 6, 5),
            sizes=[1, 1, 3, 2],
        ),
        case(
            {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
            x=(1, 1, 4, 4),
            sizes=[1, 1, 6, 3],
        ),
        case(
            {"mode": "linear", "coordinate_transformation_mode": "align_corners", "axes": (-1,)},
            x=(2, 3, 4),
            sizes=[7],
        ),
        case(
            {
                "mode": "linear",
                "coordinate_transformation_mode": "tf_crop_and_resize",
                "extrapolation_value": 10.0,
            },
            x=(1, 1, 4, 4),
            roi=[0, 0, 0.25, 0.5, 1, 1, 0.75, 1.25],
            sizes=[1, 1, 3, 3],
        ),
        case({"keep_aspect_ratio_policy": "not_larger", "axes": (0, 1)}, x=(3, 2), sizes=[7, 5]),
    )


class Resize_10(Operator):
    """Of opset 10: by scales only, from the corner on, and the nearest element is the one before."""

    since = 10
    mode: Literal["nearest", "linear"] = "nearest"

    def forward(self, xp, x, scales: Floats):  # type: ignore[no-untyped-def]
        return self._new().forward(xp, x, None, scales)

    def backward(self, xp, dy, x, scales):
        return self._new().backward(xp, dy, x, None, scales, None)

    def infer(self, x, scales):
        return self._new().infer(x, None, scales)

    def flops(self, x, scales):
        return self._new().flops(x, None, scales)

    def _new(self):
        return Resize(
            coordinate_transformation_mode="asymmetric", mode=self.mode, nearest_mode="floor"
        )
