"""What kind of quantity a number is, and the one mean that each kind may have (SC'15, Rules 3 and 4).

cost     seconds, joules, bytes, dollars      arithmetic mean
count    flop, calls, cache misses            arithmetic mean
quality  accuracy, loss                       arithmetic mean
rate     flop/s, images/s                     harmonic mean of equal work, else total work / total time
ratio    speed-up, share of peak              none: summarize what it was made from
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from ...errors import Deep500Error, Refused, TooFewSamples, did_you_mean
from .dependence import LARGEST

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .intervals import Interval

Kind = Literal["cost", "rate", "ratio", "count", "quality"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MEANS = ("arithmetic", "harmonic", "geometric")
PLURALS = {
    "cost": "costs",
    "rate": "rates",
    "count": "counts",
    "quality": "quality values",
}


class Summary(float):
    """A mean that remembers its kind, how it was formed, of how many values, and their median's interval."""

    kind: Kind
    how: str
    n: int
    interval: Interval | None
    note: str

    def __new__(
        cls,
        value: float,
        kind: Kind,
        how: str,
        n: int,
        interval: Interval | None,
        note: str,
    ) -> Summary:
        self = super().__new__(cls, value)
        self.kind = kind
        self.how = how
        self.n = n
        self.interval = interval
        self.note = note
        return self

    @property
    def value(self) -> float:
        return float(self)

    def __getnewargs__(
        self,
    ) -> tuple:  # float's own would lose the memory in a copy
        return self.value, self.kind, self.how, self.n, self.interval, self.note

    def __repr__(self) -> str:
        return f"{self.value!r} ({self.how})"


def summarize(
    values: ArrayLike,
    kind: Kind = "rate",
    work: ArrayLike | None = None,
    *,
    mean: str | None = None,
) -> Summary:
    """The mean that `kind` allows; `work` holds one count per rate, `mean` only asks for a mean by name."""
    _check_kind(kind)
    _check_mean(kind, mean)
    x = _numbers(values, "values")
    n = len(x)
    if kind == "rate" and min(x) < 1 / LARGEST:
        raise Deep500Error(
            f"a rate of {min(x):g} has no harmonic mean: give rates above 0"
        )
    if kind in ("cost", "count") and min(x) < 0:
        raise Deep500Error(
            f"a {kind} of {min(x):g} cannot be: check it, or give kind='quality'"
        )
    if work is not None:
        return _of_unequal_work(x, kind, work)
    if kind == "rate":
        value = _harmonic(x, [1.0] * n)
        how = f"harmonic mean of {n} rates of equal work"
    else:
        value = _within(x, math.fsum(x) / n)
        how = f"arithmetic mean of {n} {PLURALS[kind]}"
    interval, note = _median_interval(x)
    return Summary(value=value, kind=kind, how=how, n=n, interval=interval, note=note)


def _of_unequal_work(rates: list[float], kind: Kind, work: ArrayLike) -> Summary:
    if kind != "rate":
        raise Deep500Error(
            f"work= was given with kind='{kind}': only rates have work, leave it out"
        )
    counts = _numbers(work, "work")
    n = len(rates)
    if len(counts) != n:
        raise Deep500Error(
            f"work holds {len(counts)} counts for {n} rates: give one count per rate"
        )
    if min(counts) < 1 / LARGEST:
        raise Deep500Error(
            f"a work of {min(counts):g} was given: every count must be above 0"
        )
    how = f"total work / total time of {n} rates"
    note = "no interval: rates of unequal work are not repetitions of one measurement"
    return Summary(
        value=_harmonic(rates, counts),
        kind=kind,
        how=how,
        n=n,
        interval=None,
        note=note,
    )


def _harmonic(rates: list[float], work: list[float]) -> float:
    """Total work / total time; sums are exact, so that the order of the values cannot matter."""
    pairs = zip(work, rates, strict=True)
    time = math.fsum(count / rate for count, rate in pairs)
    return _within(rates, math.fsum(work) / time)


def _within(x: list[float], mean: float) -> float:
    """A mean lies between its values; rounding may carry it one bit outside."""
    return min(max(mean, min(x)), max(x))


def _numbers(values: ArrayLike, name: str) -> list[float]:
    try:
        x = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise Deep500Error(
            f"{name} must be numbers, one row of them: {reason}"
        ) from None
    if x.ndim != 1 or not x.size:
        raise Deep500Error(
            f"{name} must be one row of at least one number, and have the shape {x.shape}"
        )
    is_finite = np.abs(x) <= LARGEST
    bad = np.flatnonzero(~is_finite)
    if bad.size:
        first = bad[0]
        raise Deep500Error(
            f"{name}[{first}] is {x[first]}: a mean needs finite numbers (up to {LARGEST:g})"
        )
    return x.tolist()


def _check_kind(kind: str) -> None:
    if kind == "ratio":
        raise Refused(
            "ratios have no mean (Rule 4): summarize the costs on both sides with kind='cost' and divide the "
            "two summaries, or take the paired median ratio: measure.compare(a, b, paired=True)"
        )
    if kind not in KINDS:
        near = did_you_mean(str(kind), KINDS)
        names = ", ".join(KINDS)
        raise Deep500Error(f"there is no kind {kind!r}.{near} Kinds: {names}")


def _check_mean(kind: str, mean: str | None) -> None:
    if mean is not None and mean not in MEANS:
        near = did_you_mean(str(mean), MEANS)
        raise Deep500Error(
            f"there is no mean {mean!r}.{near} Leave mean= out: the kind decides"
        )
    if mean == "geometric":
        raise Refused(
            f"the geometric mean of {PLURALS[kind]} is the exponential of a mean logarithm and says nothing "
            f"about their total (Rule 4): leave mean= out, the kind '{kind}' decides"
        )
    if mean == "arithmetic" and kind == "rate":
        raise Refused(
            "the arithmetic mean of rates overstates them (Rule 3: equal work at 10, 1 and 2.5 Gflop/s is "
            "done at 2.0, not 4.5): leave mean= out for the harmonic mean, and give work= if the work differs"
        )
    if mean == "harmonic" and kind != "rate":
        raise Refused(
            f"the harmonic mean is for rates (Rule 3), not for {PLURALS[kind]}: leave mean= out"
        )


def _median_interval(x: list[float]) -> tuple[Interval | None, str]:
    from .intervals import interval

    try:
        of_median = interval(x)
    except TooFewSamples as error:
        return None, f"no interval: {error}"
    return (
        of_median,
        "the interval is of the median of the values, not of their mean",
    )
