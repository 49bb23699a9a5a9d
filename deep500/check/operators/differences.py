"""How far an array is from what it should be: L1, L2, maximum, relative and in units in the last place."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import Deep500Error
from .formats import FORMATS, Array, largest_magnitude


@dataclass(frozen=True)
class Differences:
    """The norms of |got - want|; `relative` is L2 over want's L2, `ulp` the largest in ULPs."""

    l1: float
    l2: float
    maximum: float
    relative: float
    ulp: float

    def to_json(self) -> dict[str, float | None]:
        """The numbers by their names; None for those that are not finite."""
        numbers: dict[str, float | None] = {}
        for name, value in asdict(self).items():
            numbers[name] = value if np.isfinite(value) else None
        return numbers


def differences(got: ArrayLike, want: ArrayLike) -> Differences:
    """All five numbers; an ULP is one of got's dtype, at want. A NaN in one of the two alone makes them all NaN."""
    apart = absolute(got, want)
    if not apart.size:
        return Differences(0.0, 0.0, 0.0, 0.0, 0.0)
    l1 = float(apart.sum())
    maximum = float(apart.max())
    l2 = _norm(apart)
    right = np.asarray(want, "float64")
    relative = _relative(l2, _norm(right))
    ulp = float(ulps(got, want).max())
    return Differences(l1, l2, maximum, relative, ulp)


def _relative(l2: float, right: float) -> float:
    if l2 == 0:
        return 0.0
    return l2 / right if right else np.inf


def absolute(got: ArrayLike, want: ArrayLike) -> Array:
    """|got - want| in float64; 0 where both are the same infinity or both NaN."""
    got = np.asarray(got)
    want = np.asarray(want)
    if got.shape != want.shape:
        raise Deep500Error(
            f"arrays of the shapes {got.shape} and {want.shape} have no difference: give equal shapes"
        )
    a = got.astype("float64")
    b = want.astype("float64")
    both_nan = np.isnan(a) & np.isnan(b)
    with np.errstate(invalid="ignore"):
        same = (a == b) | both_nan
        return np.where(same, 0.0, np.abs(a - b))


def ulps(got: ArrayLike, want: ArrayLike) -> Array:
    """|got - want| in units in the last place of got's dtype (of float64 if that is no float)."""
    dtype = np.asarray(got).dtype.name
    form = FORMATS.get(dtype, FORMATS["float64"])
    right = np.asarray(want, "float64")
    with np.errstate(over="ignore"):
        apart = absolute(got, want)
        finite = np.where(np.isfinite(right), right, form.largest)
        return apart / form.spacing(finite)


def variance(runs: Sequence[ArrayLike]) -> Array:
    """The variance of every element over runs (divided by n - 1)."""
    if len(runs) < 2:
        raise Deep500Error(
            f"the variance over {len(runs)} runs is not known: give at least 2"
        )
    arrays = [np.asarray(run, "float64") for run in runs]
    return np.var(np.stack(arrays), axis=0, ddof=1)


def _norm(x: Array) -> float:
    """The root of the sum of squares, without overflow."""
    largest = largest_magnitude(x)
    if not 0 < largest < np.inf:
        return largest
    sum_of_squares = np.sum(np.square(x / largest))
    return largest * float(np.sqrt(sum_of_squares))
