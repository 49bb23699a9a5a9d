"""Arrays read between their elements: from the neighbours of every point, with weights, and how gradients flow back.

Points are (batch, points): one coordinate per axis, counted in elements. A tap is one neighbour along one axis.
"""

import itertools
import math
from typing import Any, NamedTuple

Array = Any


class Tap(NamedTuple):
    """Index, weight, and the derivative of the weight by the coordinate, for all points."""

    index: Array
    weight: Array
    slope: Array


class Corners(NamedTuple):
    """All neighbours of all points: (batch, neighbours, points); the slopes by the coordinate of every axis."""

    index: Array  # in the flattened array
    weight: Array
    slopes: list[Array]


def inside(xp, place, size):
    """Nothing counts outside: the nearest index, and whether it is the place itself."""
    index = xp.clip(place, 0, size - 1)
    return index, xp.astype(index == place, place.dtype)


def linear_taps(xp, at, size, put=inside):
    """Two neighbours; `put` says which element stands at a place, and how much it counts."""
    low = xp.floor(at)
    rest = at - low
    ones = xp.ones_like(at)
    return [
        _tap(xp, put(xp, low, size), 1 - rest, -ones),
        _tap(xp, put(xp, low + 1, size), rest, ones),
    ]


def cubic_taps(xp, at, size, put=inside, a=-0.75):
    """Four neighbours, weighed by Keys' kernel."""
    low = xp.floor(at)
    found = []
    for step in (-1, 0, 1, 2):
        sign = 1 if step < 1 else -1
        t = sign * (at - low - step)  # the distance
        if step in (0, 1):
            weight, slope = ((a + 2) * t - (a + 3)) * t * t + 1, (3 * (a + 2) * t - 2 * (a + 3)) * t
        else:
            weight, slope = (
                ((a * t - 5 * a) * t + 8 * a) * t - 4 * a,
                (3 * a * t - 10 * a) * t + 8 * a,
            )
        found.append(_tap(xp, put(xp, low + step, size), weight, sign * slope))
    return found


def nearest_taps(xp, at, size, put=inside):
    """One element, at a coordinate that is whole."""
    return [_tap(xp, put(xp, at, size), xp.ones_like(at), xp.zeros_like(at))]


def corners(xp, axes, sizes):
    """Every combination of one tap per axis, from a list of taps for each."""
    steps = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
    every = list(itertools.product(*axes))
    index = xp.stack(
        [sum(tap.index * step for tap, step in zip(taps, steps, strict=True)) for taps in every],
        axis=1,
    )
    weight = xp.stack([math.prod(tap.weight for tap in taps) for taps in every], axis=1)
    slopes = [
        xp.stack(
            [
                math.prod(tap.slope if i == k else tap.weight for i, tap in enumerate(taps))
                for taps in every
            ],
            axis=1,
        )
        for k in range(len(sizes))
    ]
    return Corners(index, weight, slopes)


def neighbours(xp, x, at):
    """(batch, channels, neighbours, points): the elements of x (batch, channels, *spatial) that are read."""
    flat = xp.reshape(x, (*x.shape[:2], -1))
    return xp.reshape(
        xp.take_along_axis(flat, _indices(xp, at, x), 2), (*x.shape[:2], *at.index.shape[1:])
    )


def read(xp, x, at):
    """(batch, channels, points)."""
    return xp.sum(neighbours(xp, x, at) * xp.expand_dims(at.weight, 1), axis=2)


def put_back(xp, dvalues, x, at):
    """The adjoint of `neighbours`: gradients of what was read, added up where it was read from."""
    rows = xp.reshape(dvalues, (*x.shape[:2], math.prod(at.index.shape[1:])))
    zeros = xp.zeros((*x.shape[:2], math.prod(x.shape[2:])), dvalues.dtype)
    return xp.reshape(xp.scatter_add(zeros, _indices(xp, at, x), rows, 2), x.shape)


def read_adjoint(xp, dy, x, at):
    """The gradient of x, from that of what was read (batch, channels, points)."""
    return put_back(xp, xp.expand_dims(dy, 2) * xp.expand_dims(at.weight, 1), x, at)


def coordinate_gradients(xp, dy, x, at):
    """(batch, points) for every axis."""
    moved = xp.sum(neighbours(xp, x, at) * xp.expand_dims(dy, 2), axis=1)
    return [xp.sum(moved * slope, axis=1) for slope in at.slopes]


def _tap(xp, element, weight, slope):
    index, counts = element
    return Tap(xp.astype(index, "int64"), counts * weight, counts * slope)


def _indices(xp, at, x):
    flat = xp.reshape(at.index, (at.index.shape[0], 1, math.prod(at.index.shape[1:])))
    return xp.broadcast_to(flat, (*x.shape[:2], flat.shape[2]))
