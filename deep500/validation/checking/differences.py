"""How far an array is from what it should be: L1, L2, maximum, relative and in units in the last place."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import Deep500Error
from .formats import FORMATS


@dataclass(frozen=True)
class Differences:
    """Sums, root of squares and largest of |got - want|; `relative` is L2 over want's L2, `ulp` the largest in ULPs."""

    l1: float
    l2: float
    maximum: float
    relative: float
    ulp: float

    def to_json(self) -> dict[str, float | None]:
        return {
            name: value if np.isfinite(value) else None
            for name, value in asdict(self).items()
        }


def differences(got: ArrayLike, want: ArrayLike) -> Differences:
    """All five numbers; an ULP is one of got's dtype, at want. A NaN in one of the two alone makes them all NaN."""
    apart = absolute(got, want)
    if not apart.size:
        return Differences(0.0, 0.0, 0.0, 0.0, 0.0)
    l2, right = _norm(apart), _norm(np.asarray(want, "float64"))
    return Differences(
        float(apart.sum()),
        l2,
        float(apart.max()),
        0.0 if l2 == 0 else l2 / right if right else np.inf,
        float(ulps(got, want).max()),
    )


def absolute(got: ArrayLike, want: ArrayLike) -> np.ndarray:
    """|got - want| in float64; 0 where both are the same infinity or both NaN."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        raise Deep500Error(
            f"arrays of the shapes {got.shape} and {want.shape} have no difference: give equal shapes"
        )
    a, b = got.astype("float64"), want.astype("float64")
    with np.errstate(invalid="ignore"):
        return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))


def ulps(got: ArrayLike, want: ArrayLike) -> np.ndarray:
    """|got - want| in units in the last place of got's dtype (float64 for what is no float)."""
    form = FORMATS.get(np.asarray(got).dtype.name, FORMATS["float64"])
    right = np.asarray(want, "float64")
    with np.errstate(over="ignore"):
        return absolute(got, want) / form.spacing(
            np.where(np.isfinite(right), right, form.largest)
        )


def variance(runs: Sequence[ArrayLike]) -> np.ndarray:
    """The variance of every element over runs (divided by n - 1)."""
    if len(runs) < 2:
        raise Deep500Error(
            f"the variance over {len(runs)} runs is not known: give at least 2"
        )
    return np.var(
        np.stack([np.asarray(run, "float64") for run in runs]), axis=0, ddof=1
    )


def _norm(x: np.ndarray) -> float:
    """The root of the sum of squares, without overflow."""
    largest = float(np.max(np.abs(x), initial=0))
    return (
        largest * float(np.sqrt(np.sum(np.square(x / largest))))
        if 0 < largest < np.inf
        else largest
    )
