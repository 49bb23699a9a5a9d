"""How much of a difference rounding explains: for every tensor, what small random moves of the numbers change."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from .trainings import Training, largest
from .trees import Arrays, changed

MOVES = 3
# of a difference, where moves of at most 2 eps were tried: three moves do not find the largest change
FACTOR = 32.0
# of the largest element of the sum, for sums in another order
ULPS = 64.0
# the same where nothing could be moved
ULPS_UNMOVED = 4096.0
# the same for floats as coarse as this, of which a sum is rounded once per part
NARROW = 2.0**-10
FACTOR_NARROW = 4.0
ULPS_NARROW = 4.0
# a bound above this share of the gradient decides nothing
LARGEST_SHARE = 0.1


@dataclass(frozen=True)
class Rounding:
    """The bound of every tensor of the gradient, and the gradient of the whole batch."""

    gradient: Arrays
    bounds: Mapping[str, float]

    @property
    def decides(self) -> bool:
        """Whether rounding leaves enough of at least one tensor."""
        shares = []
        for name, array in self.gradient.items():
            if largest(array):
                shares.append(self.bounds[name] / largest(array))
        return min(shares, default=math.inf) <= LARGEST_SHARE

    def worst(self, other: Arrays) -> tuple[str, float, float]:
        """The tensor that uses most of its bound: its name, its largest difference and its bound."""
        found = ("", 0.0, 1.0)
        for name, array in self.gradient.items():
            bound = self.bounds[name]
            if name not in other or other[name].shape != array.shape:
                return name, float("inf"), bound
            difference = largest(other[name].astype(np.float64) - array)
            if not np.isfinite(other[name]).all():
                difference = float("inf")
            if not found[0] or difference * found[2] > found[1] * bound:
                found = name, difference, bound
        return found


def rounding_of(training: Training, seed: int) -> Rounding:
    """The gradient of the whole batch, and what rounding may change in it."""
    batch = training.batch.tree
    gradient = training.gradient([batch])
    moved = dict.fromkeys(gradient, 0.0)
    has_moved = False
    for move in moves(seed):
        state = None
        if training.start is not None:
            state = changed(training.start, move)
        other = training.gradient([changed(batch, move)], state)
        for name, array in gradient.items():
            change = largest(other[name].astype(np.float64) - array)
            moved[name] = max(moved[name], change)
            has_moved = has_moved or change > 0
    bounds = {}
    for name, array in gradient.items():
        step, size = coarseness(array), largest(array)
        bounds[name] = allowed(moved[name], step, size, has_moved)
    floor = 1e-6 * max(bounds.values())
    for name, array in gradient.items():
        bounds[name] = max(bounds[name], floor, float(np.finfo(array.dtype).tiny))
    return Rounding(gradient, bounds)


def rounding_of_loss(training: Training, seed: int, whole: float) -> float:
    """What rounding may change in the loss of the whole batch."""
    moved = 0.0
    for move in moves(seed):
        state = None
        if training.start is not None:
            state = changed(training.start, move)
        other = training.loss([changed(training.batch.tree, move)], state)
        if other is not None and math.isfinite(other):
            moved = max(moved, abs(other - whole))
    step = coarseness(np.array(whole, np.float32))
    return allowed(moved, step, abs(whole), moved > 0)


def allowed(moved: float, step: float, size: float, has_moved: bool) -> float:
    """The bound of numbers up to `size`, `step` apart, which moves of the inputs have changed by `moved` at most."""
    ulps = ULPS if has_moved else ULPS_UNMOVED
    factor = FACTOR
    if step >= NARROW:
        ulps, factor = ULPS_NARROW, FACTOR_NARROW
    return factor * moved + ulps * step * size


def moves(seed: int) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    """Functions that move every number of an array at random, by as little as rounding does."""
    random = np.random.default_rng(seed)

    def move(array: np.ndarray) -> np.ndarray:
        eps = np.finfo(array.dtype).eps
        shifts = random.uniform(-2, 2, array.shape) * eps
        return (array * (1 + shifts)).astype(array.dtype)

    for _ in range(MOVES):
        yield move


def plain_rounding(gradient: Arrays) -> Rounding:
    """Bounds that are known without further calls: wider than those of `rounding_of` for most tensors."""
    bounds = {}
    for name, array in gradient.items():
        smallest = float(np.finfo(array.dtype).tiny)
        share = min(ULPS_UNMOVED * coarseness(array), LARGEST_SHARE / 2)
        bounds[name] = max(share * largest(array), smallest)
    return Rounding(gradient, bounds)


def coarseness(array: np.ndarray) -> float:
    """The relative distance of the numbers in an array: that of a narrower float if all of them are such floats."""
    eps = float(np.finfo(array.dtype).eps)
    if array.dtype != np.float32:
        return eps
    bits = np.ascontiguousarray(array).view(np.uint32)
    for zeros, narrow in ((16, 2.0**-7), (13, 2.0**-10)):  # bfloat16, float16
        if not (bits & (2**zeros - 1)).any():
            return narrow
    return eps
