"""Finds how a number in a recorded graph depends on the sizes of dimensions, from its values at some sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product

import numpy as np

from ...errors import Unsupported

# For every dimension two sizes, and a third one to verify.
PRIMES = (
    (11, 13, 17),
    (19, 23, 29),
    (31, 37, 41),
)
Point = tuple[int, ...]  # a size of every dimension


@dataclass(frozen=True)
class SizePlan:
    """The sizes at which a graph is recorded: all pairs, and one more point by which formulas are verified."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) > len(PRIMES):
            names = ", ".join(self.names)
            raise Unsupported(
                f"a backward pass for any size takes at most {len(PRIMES)} named dimensions, and "
                f"there are {len(self.names)} ({names}): give sizes"
            )

    @property
    def corners(self) -> list[Point]:
        primes = PRIMES[: len(self.names)]
        pairs = [sizes[:2] for sizes in primes]
        return [*product(*pairs)]

    @property
    def check(self) -> Point:
        primes = PRIMES[: len(self.names)]
        return tuple(sizes[2] for sizes in primes)

    @property
    def points(self) -> list[Point]:
        return [*self.corners, self.check]


@dataclass(frozen=True)
class SizeFormula:
    """A sum of products of sizes (or of their reciprocals): coefficients by the dimensions of each product."""

    coefficients: Mapping[tuple[str, ...], np.ndarray]
    reciprocal: bool = False

    @property
    def constant(self) -> np.ndarray:
        return self.coefficients[()]

    @property
    def terms(self) -> dict[tuple[str, ...], np.ndarray]:
        """The products whose coefficients are not all zero."""
        terms = {}
        for names, coefficient in self.coefficients.items():
            if names and np.any(coefficient):
                terms[names] = coefficient
        return terms

    def at(self, sizes: Mapping[str, float]) -> np.ndarray:
        total = np.array(self.constant)
        for names, coefficient in self.terms.items():
            factor = _factor(names, sizes, self.reciprocal)
            total = total + coefficient * factor
        return total


def fitted(plan: SizePlan, values: Sequence[np.ndarray]) -> SizeFormula | None:
    """The formula of a constant with these values at the plan's points; None if there is none of this kind."""
    if values[0].dtype.kind in "iu":
        return _integer_formula(plan, values)
    for reciprocal in (False, True):
        formula = _interpolated(plan, values, reciprocal)
        if _agrees(plan, formula, values[-1]):
            return formula
    return None


def _integer_formula(
    plan: SizePlan, values: Sequence[np.ndarray]
) -> SizeFormula | None:
    formula = _interpolated(plan, values, reciprocal=False)
    integers = {}
    for names, coefficient in formula.coefficients.items():
        integers[names] = np.rint(coefficient).astype(np.int64)
    rounded = SizeFormula(integers)
    for point, value in zip(plan.points, values, strict=True):
        computed = rounded.at(_named(plan, point))
        if not np.array_equal(computed, value):
            return None
    return rounded


def _interpolated(
    plan: SizePlan, values: Sequence[np.ndarray], reciprocal: bool
) -> SizeFormula:
    """The multilinear polynomial through the corners, one dimension after the other."""
    count = len(plan.names)
    shape = values[0].shape
    corners = [np.asarray(value, np.float64) for value in values[:-1]]
    pairs = [2] * count
    grid = np.stack(corners).reshape(*pairs, *shape)
    for axis in range(count):
        low: float = PRIMES[axis][0]
        high: float = PRIMES[axis][1]
        if reciprocal:
            low, high = 1 / low, 1 / high
        first = np.take(grid, 0, axis)
        second = np.take(grid, 1, axis)
        slope = (second - first) / (high - low)
        intercept = first - slope * low
        grid = np.stack([intercept, slope], axis)
    coefficients = {}
    for chosen in product((0, 1), repeat=count):
        names = tuple(compress(plan.names, chosen))
        coefficients[names] = grid[chosen]
    return SizeFormula(coefficients, reciprocal)


def _agrees(plan: SizePlan, formula: SizeFormula, value: np.ndarray) -> bool:
    tolerance = 1e-12
    if value.dtype.itemsize <= 4:
        tolerance = 1e-6
    computed = formula.at(_named(plan, plan.check))
    return bool(np.allclose(computed, value, rtol=tolerance, atol=0))


def _factor(
    names: Sequence[str], sizes: Mapping[str, float], reciprocal: bool
) -> float:
    factor: float = 1
    for name in names:
        if reciprocal:
            factor = factor / sizes[name]
        else:
            factor = factor * sizes[name]
    return factor


def _named(plan: SizePlan, point: Point) -> dict[str, float]:
    return dict(zip(plan.names, point, strict=True))
