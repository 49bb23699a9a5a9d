"""Resampling along one axis: which elements each new one is made of, and their weights. All follows from shapes."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ._indexing import take_adjoint

ROUNDING: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}


class Line(NamedTuple):
    """How one axis changes: from `size` to `out` elements; roi is the part that tf_crop_and_resize takes."""

    axis: int
    size: int
    out: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)


class InterpolationRows(NamedTuple):
    """For every new element, the places and weights of old ones; `outside` marks those that are none of them."""

    places: list[list[int]]
    weights: list[list[float]] | None  # None: one element each, as it is
    outside: list[bool]


def coordinate(mode: str, at: int, line: Line) -> float:
    """Where the new element `at` lies among the old ones."""
    size, out, scale = line.size, line.out, line.scale
    length = scale * size
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and length > 1):
        return (at + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return 0.0
    if mode == "half_pixel_symmetric":
        return size / 2 * (1 - out / length) + (at + 0.5) / scale - 0.5
    if mode == "asymmetric":
        return at / scale
    if mode == "align_corners":
        return 0.0 if length == 1 else at * (size - 1) / (length - 1)
    if mode == "tf_half_pixel_for_nn":
        return (at + 0.5) / scale
    if mode == "tf_crop_and_resize":
        start, end = line.roi
        inner = (end - start) * (size - 1)
        return start * (size - 1) + (inner / 2 if length == 1 else at * inner / (length - 1))
    raise ValueError(f"there is no coordinate_transformation_mode {mode!r}")


def nearest_rows(line: Line, coordinates: Sequence[float], rounding: str) -> InterpolationRows:
    places = [[_inside(ROUNDING[rounding](x), line.size)] for x in coordinates]
    return InterpolationRows(places, None, _outside(line, coordinates))


def kernel_rows(
    line: Line,
    coordinates: Sequence[float],
    kernel: Callable[[float], float],
    radius: int,
    antialias: bool,
    exclude_outside: bool,
) -> InterpolationRows:
    """Weights by distance; beyond the ends the last element goes on, or what is there does not count."""
    shrink = min(line.scale, 1.0) if antialias else 1.0  # a smaller picture takes a wider kernel
    reach = math.ceil(radius / shrink)
    places, weights = [], []
    for x in coordinates:
        near = range(math.floor(x) - reach + 1, math.floor(x) + reach + 1)
        row = [
            0.0 if exclude_outside and not 0 <= i < line.size else kernel(shrink * (i - x))
            for i in near
        ]
        total = sum(row) if antialias or exclude_outside else 1.0
        places.append([_inside(i, line.size) for i in near])
        weights.append([w / (total or 1.0) for w in row])
    return InterpolationRows(places, weights, _outside(line, coordinates))


def linear(t: float) -> float:
    return max(0.0, 1 - abs(t))


def cubic(a: float) -> Callable[[float], float]:
    """Keys' kernel; `a` is its slope at distance 1."""

    def kernel(t: float) -> float:
        t = abs(t)
        if t <= 1:
            return ((a + 2) * t - (a + 3)) * t * t + 1
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else 0.0

    return kernel


def resample(xp, x, axis, rows, fill):
    """x along this axis as the rows say."""
    behind = [1] * (x.ndim - axis - 1)
    y = xp.take(x, _places(xp, rows), axis)
    if rows.weights is not None:
        y = xp.sum(
            y * xp.reshape(xp.asarray(rows.weights, x.dtype), (*_shape(rows), *behind)),
            axis=axis + 1,
        )
    if any(rows.outside):
        y = xp.where(xp.reshape(xp.asarray(rows.outside, "bool"), (-1, *behind)), fill, y)
    return y


def resample_adjoint(xp, dy, axis, rows, size):
    behind = [1] * (dy.ndim - axis - 1)
    if any(rows.outside):
        dy = xp.where(xp.reshape(xp.asarray(rows.outside, "bool"), (-1, *behind)), 0, dy)
    shape = (*dy.shape[:axis], size, *dy.shape[axis + 1 :])
    if rows.weights is not None:
        dy = xp.expand_dims(dy, axis + 1) * xp.reshape(
            xp.asarray(rows.weights, dy.dtype), (*_shape(rows), *behind)
        )
    return take_adjoint(xp, dy, _places(xp, rows), shape, axis)


def _places(xp, rows):
    return xp.asarray(
        [row[0] for row in rows.places] if rows.weights is None else rows.places, "int64"
    )


def _shape(rows):
    return len(rows.places), len(rows.places[0]) if rows.places else 0


def _inside(place: int, size: int) -> int:
    return min(max(place, 0), size - 1)


def _outside(line: Line, coordinates: Sequence[float]) -> list[bool]:
    """Only a part that reaches beyond the old elements has places of which nothing is known."""
    return [line.roi != (0.0, 1.0) and not 0 <= x <= line.size - 1 for x in coordinates]
