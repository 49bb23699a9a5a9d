"""How a number in a recorded graph depends on the sizes of dimensions, told from its values at some sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ...errors import Unsupported

PRIMES = (
    (11, 13, 17),
    (19, 23, 29),
    (31, 37, 41),
)  # of every dimension: two sizes, one to verify
Point = tuple[int, ...]  # a size of every dimension


@dataclass(frozen=True)
class Plan:
    """At which sizes a graph is recorded: all pairs, and one more point by which formulas are verified."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) > len(PRIMES):
            raise Unsupported(
                f"a backward pass for any size takes at most {len(PRIMES)} named dimensions, and "
                f"there are {len(self.names)} ({', '.join(self.names)}): give sizes"
            )

    @property
    def corners(self) -> list[Point]:
        return [*product(*(PRIMES[i][:2] for i in range(len(self.names))))]

    @property
    def check(self) -> Point:
        return tuple(PRIMES[i][2] for i in range(len(self.names)))

    @property
    def points(self) -> list[Point]:
        return [*self.corners, self.check]


@dataclass(frozen=True)
class Formula:
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
            total = total + coefficient * _factor(names, sizes, self.reciprocal)
        return total


def fitted(plan: Plan, values: Sequence[np.ndarray]) -> Formula | None:
    """The formula of a constant with these values at the plan's points; None if there is none of this kind."""
    if values[0].dtype.kind in "iu":
        return _integer_formula(plan, values)
    for reciprocal in (False, True):
        formula = _interpolated(plan, values, reciprocal)
        if _agrees(plan, formula, values[-1]):
            return formula
    return None


def _integer_formula(plan: Plan, values: Sequence[np.ndarray]) -> Formula | None:
    formula = _interpolated(plan, values, reciprocal=False)
    whole = {
        names: np.rint(c).astype(np.int64) for names, c in formula.coefficients.items()
    }
    rounded = Formula(whole)
    for point, value in zip(plan.points, values, strict=True):
        if not np.array_equal(rounded.at(_named(plan, point)), value):
            return None
    return rounded


def _interpolated(
    plan: Plan, values: Sequence[np.ndarray], reciprocal: bool
) -> Formula:
    """The multilinear polynomial through the corners, one dimension after the other."""
    count = len(plan.names)
    shape = values[0].shape
    grid = np.stack([np.asarray(v, np.float64) for v in values[:-1]])
    grid = grid.reshape(*[2] * count, *shape)
    for axis in range(count):
        low, high = (1 / p if reciprocal else p for p in PRIMES[axis][:2])
        first, second = np.take(grid, 0, axis), np.take(grid, 1, axis)
        slope = (second - first) / (high - low)
        grid = np.stack([first - slope * low, slope], axis)
    coefficients = {}
    for chosen in product((0, 1), repeat=count):
        names = tuple(
            name for name, used in zip(plan.names, chosen, strict=True) if used
        )
        coefficients[names] = grid[chosen]
    return Formula(coefficients, reciprocal)


def _agrees(plan: Plan, formula: Formula, value: np.ndarray) -> bool:
    digits = 1e-6 if value.dtype.itemsize <= 4 else 1e-12
    computed = formula.at(_named(plan, plan.check))
    return bool(np.allclose(computed, value, rtol=digits, atol=0))


def _factor(
    names: Sequence[str], sizes: Mapping[str, float], reciprocal: bool
) -> float:
    factor: float = 1
    for name in names:
        factor = factor / sizes[name] if reciprocal else factor * sizes[name]
    return factor


def _named(plan: Plan, point: Point) -> dict[str, float]:
    return dict(zip(plan.names, point, strict=True))
