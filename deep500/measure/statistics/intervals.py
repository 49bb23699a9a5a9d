"""Confidence intervals of quantiles by ranks, aware of dependence within a series and of processes."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import Deep500Error, Refused, TooFewSamples
from .dependence import (
    SHORT,
    as_series,
    autocorrelation,
    dependence,
)
from .distributions import (
    Array,
    binomial_cdf,
    normal_cdf,
    normal_quantile,
    student_t_quantile,
)

ONE_PROCESS = "one process, between-process variance unknown"
COARSE_CLOCK = "coarse clock: the values come in steps of"
COARSE_STEPS = 4  # an interval as wide as that is wider than what rounding does
# One series in the order measured, or a list of them, one per process.
Samples = ArrayLike | Sequence[ArrayLike]


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    `effective_n` is how many independent values (or processes) the n values are worth; `quantile` is None
    where the estimate is not a quantile.
    """

    estimate: float
    low: float
    high: float
    n: int
    level: float
    quantile: float | None
    method: str
    effective_n: float
    processes: int
    notes: tuple[str, ...] = ()

    @property
    def half_width(self) -> float:
        """The relative half width, sqrt(high / low) - 1; infinite where the interval touches zero."""
        if self.low == self.high:
            return 0.0
        ends = (abs(self.low), abs(self.high))
        near, far = sorted(ends)
        same_sign = (self.low > 0) == (self.high > 0)
        if near > 0 and same_sign:
            return math.sqrt(far / near) - 1
        return math.inf

    def around(self, estimate: float) -> "Interval":
        """The same interval with another estimate, which it contains."""
        low = min(self.low, estimate)
        high = max(self.high, estimate)
        return replace(self, estimate=estimate, low=low, high=high)


def interval(samples: Samples, quantile: float = 0.5, level: float = 0.95) -> Interval:
    """The interval of a quantile of one series in the order measured, or of a list of series, one per process.

    With 3 to 5 processes it is computed on logarithms where all values have one sign, so pass ratios, not
    their logarithms. Raises TooFewSamples where the samples cannot give this level.
    """
    quantile = checked_fraction("quantile", quantile)
    level = checked_fraction("level", level)
    series = as_processes(samples)
    if len(series) > 1:
        return _of_processes(series, quantile, level)
    notes = (ONE_PROCESS,) if _is_nested(samples) else ()
    found = _of_series(series[0], quantile, level, notes)
    return _with_clock_note(found, series[0])


def _with_clock_note(found: Interval, x: Array) -> Interval:
    """The interval, with a warning where it is finer than the steps of the values: their rounding is not in it."""
    step = _clock_step(x)
    if step is None or found.high - found.low >= COARSE_STEPS * step:
        return found
    note = (
        f"{COARSE_CLOCK} {step:g}, hardly finer than this interval: rounding may have moved it by a step; "
        "time several calls together"
    )
    return replace(found, notes=(*found.notes, note))


def _clock_step(x: Array) -> float | None:
    """The step in which values come, where most of them have equals; None for values that are not in steps."""
    values, counts = np.unique(x, return_counts=True)
    if len(x) < SHORT or len(values) == 1 or counts[counts > 1].sum() <= len(x) / 2:
        return None
    gaps = np.diff(values)
    # values that were divided differ in their last bits
    gaps = gaps[gaps > 1e-9 * abs(values[-1])]
    return float(gaps.min()) if len(gaps) else None


def smallest_sample(quantile: float, level: float) -> int:
    """The fewest values whose extremes enclose the quantile with this probability (p99 at 0.95: 299)."""
    return _fewest(quantile, 1 - level)


def _fewest(quantile: float, alpha: float) -> int:
    rare = min(quantile, 1 - quantile)
    log_common = math.log1p(-rare)
    estimate = math.log(max(alpha, 1e-300)) / log_common
    n = max(1, int(min(estimate, 1e15)) - 1)
    while n < 1e15 and math.exp(n * log_common) + rare**n > alpha:
        n += 1
    return n


def _is_nested(samples: Any) -> bool:
    if not isinstance(samples, list | tuple) or len(samples) == 0:
        return False
    return not np.isscalar(samples[0])


def as_processes(samples: Any) -> list[Array]:
    """The samples as one array per process; a single series counts as one process."""
    if _is_nested(samples):
        return [as_series(values) for values in samples]
    return [as_series(samples)]


def checked_fraction(name: str, value: float) -> float:
    """The value as a float strictly between 0 and 1; any other raises a Deep500Error with the name in it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < 1:
        raise Deep500Error(
            f"{name} must lie between 0 and 1 (such as 0.95), got {value!r}"
        )
    return number


def _name(quantile: float) -> str:
    if quantile == 0.5:
        return "the median"
    return f"p{100 * quantile:g}"


def _of_series(
    x: Array, quantile: float, level: float, notes: tuple[str, ...]
) -> Interval:
    n = len(x)
    percent = f"{100 * level:g} %"
    request = f"{_name(quantile)} at {percent} was asked of {n} values"
    needed = smallest_sample(quantile, level)
    if n < needed:
        raise TooFewSamples(f"{request}; at least {needed} are needed")
    ordered = np.sort(x)
    if ordered[0] == ordered[-1]:
        return _of_equal_values(float(ordered[0]), n, quantile, level, notes)
    alpha = 1 - level
    size = float(n)
    method = "binomial ranks, Nyblom-interpolated"
    tau, df = dependence(x, quantile)
    if tau > 1:
        size = n / tau
        t = student_t_quantile(1 - alpha / 2, df)
        alpha = 2 * normal_cdf(-t)
        notes += (f"dependent: the {n} values count as {size:.1f}",)
        method += ", effective n"
    elif n < SHORT:
        notes += (f"fewer than {SHORT} values: dependence unchecked",)
    ranks = _ranks(size, quantile, alpha)
    if ranks is None:
        more = math.ceil(_fewest(quantile, alpha) * tau)
        raise TooFewSamples(
            f"{request} so dependent that they count as {size:.1f}; about {more} are needed"
        )
    # ranks of the effective sample, as the same shares of the real one
    real_ranks = [rank * (n + 1) / (size + 1) for rank in ranks]
    low, high = _between(ordered, *real_ranks)
    estimate = _quantile_of(ordered, quantile)
    return Interval(
        estimate=estimate,
        low=min(low, estimate),
        high=max(high, estimate),
        n=n,
        level=level,
        quantile=quantile,
        method=method,
        effective_n=size,
        processes=1,
        notes=notes,
    )


def _of_equal_values(
    value: float, n: int, quantile: float, level: float, notes: tuple[str, ...]
) -> Interval:
    return Interval(
        estimate=value,
        low=value,
        high=value,
        n=n,
        level=level,
        quantile=quantile,
        method="all values equal",
        effective_n=float(n),
        processes=1,
        notes=notes,
    )


@lru_cache(maxsize=4096)
def _ranks(n: float, quantile: float, alpha: float) -> tuple[float, float] | None:
    """Fractional ranks of the lower end, from below, and the upper end, from above; None if n is too small.

    Where one end cannot have half of alpha, it is the extreme value and the other end gets what remains.
    """
    beyond_low = (1 - quantile) ** n
    beyond_high = quantile**n
    if beyond_low + beyond_high > alpha:
        return None
    below = min(max(alpha / 2, beyond_low), alpha - beyond_high)
    above = min(max(alpha / 2, beyond_high), alpha - beyond_low)
    return _nyblom_rank(n, quantile, below), _nyblom_rank(n, 1 - quantile, above)


def _nyblom_rank(n: float, quantile: float, tail: float) -> float:
    """The rank whose value, interpolated linearly, exceeds the quantile with probability tail (Nyblom)."""

    def cdf(rank: int) -> float:
        return binomial_cdf(rank, n, quantile)

    # without the tolerance, rounding would cost the extreme rank where the tail is exactly its probability
    tolerated = tail * (1 + 1e-12)
    ranks = range(math.ceil(n))
    rank = max(bisect_right(ranks, tolerated, key=cdf), 1)
    outer = cdf(rank - 1)
    inner = cdf(rank)
    if rank >= n or tail <= outer:
        return float(rank)
    inner_weight = rank * (1 - quantile) * (inner - tail)
    outer_weight = (n - rank) * quantile * (tail - outer)
    return rank + 1 / (1 + inner_weight / outer_weight)


def _at_rank(ordered: Array, rank: float) -> float:
    """The value of a fractional rank, counted from 1."""
    whole = int(rank)
    here = float(ordered[max(whole, 1) - 1])
    after = float(ordered[min(whole, len(ordered) - 1)])
    if whole < 1 or here == after or rank == whole:
        return here
    # weights rather than a step, so that mirrored values give exactly mirrored results
    return (1 - rank + whole) * here + (rank - whole) * after


def _between(
    ordered: Array, from_below: float, from_above: float
) -> tuple[float, float]:
    low = _at_rank(ordered, from_below)
    mirrored = -ordered[::-1]
    return low, -_at_rank(mirrored, from_above)


def rank_interval(ordered: Sequence[float], level: float) -> tuple[float, float]:
    """The ends of the interval of the median of independent, sorted values, which may be infinite.

    Between values that repeat there is nothing to interpolate: then the ends are values themselves.
    """
    ranks = _ranks(float(len(ordered)), 0.5, 1 - level)
    if ranks is None:
        needed = smallest_sample(0.5, level)
        raise TooFewSamples(
            f"ranks of {len(ordered)} values were asked for; at least {needed} are needed"
        )
    low_rank, high_rank = ranks
    if len(set(ordered)) < len(ordered):
        low_rank, high_rank = math.floor(low_rank), math.floor(high_rank)
    return _between(np.array(ordered, float), low_rank, high_rank)


def _quantile_of(ordered: Array, quantile: float) -> float:
    """The median-unbiased sample quantile."""
    rank = quantile * len(ordered) + (1 + quantile) / 3
    return _at_rank(ordered, rank)


def middle_process(samples: Samples, quantile: float = 0.5) -> float:
    """The quantile in the middle one of the processes (with an even number, between the two in the middle)."""
    medians = _process_quantiles(as_processes(samples), quantile)
    return _quantile_of(medians, 0.5)


def _process_quantiles(series: list[Array], quantile: float) -> Array:
    """The quantile of every process, sorted."""
    centres = [_quantile_of(np.sort(values), quantile) for values in series]
    return np.sort(centres)


def _of_processes(series: list[Array], quantile: float, level: float) -> Interval:
    count = len(series)
    _check_processes(series, quantile)
    medians = _process_quantiles(series, quantile)
    of_each = "medians" if quantile == 0.5 else _name(quantile)
    ranks = None
    if count >= 6:
        ranks = _ranks(float(count), 0.5, 1 - level)
    if ranks:
        method = f"binomial ranks of process {of_each}, Nyblom-interpolated"
        estimate = _quantile_of(medians, 0.5)
        low, high = _between(medians, *ranks)
    elif sign := _common_sign(series):
        method = f"t on log process {of_each}"
        estimate, low, high = _log_t(medians, level, sign)
    else:
        method = f"t on process {of_each}"
        estimate, low, high = t_interval(medians, level)
    return Interval(
        estimate=estimate,
        low=min(low, estimate),
        high=max(high, estimate),
        n=sum(map(len, series)),
        level=level,
        quantile=quantile,
        method=method,
        effective_n=float(count),
        processes=count,
    )


def _check_processes(series: list[Array], quantile: float) -> None:
    count = len(series)
    if count < 3:
        processes = "1 process" if count == 1 else f"{count} processes"
        raise TooFewSamples(
            f"an interval over {processes} was asked for; at least 3 are needed"
        )
    fewest = 1
    if quantile != 0.5:
        rare = min(quantile, 1 - quantile)
        fewest = math.ceil(round(3 / rare, 6))
    shortest = min(map(len, series))
    if shortest < fewest:
        request = f"{_name(quantile)} was asked of a process of {shortest} values"
        raise TooFewSamples(f"{request}; at least {fewest} are needed")


def _common_sign(series: list[Array]) -> int:
    """1 if all values are positive, -1 if all are negative, otherwise 0."""
    if all(values.min() > 0 for values in series):
        return 1
    if all(values.max() < 0 for values in series):
        return -1
    return 0


def t_interval(values: Array, level: float) -> tuple[float, float, float]:
    """Mean and t-interval, scaled and summed exactly: unit, order and sign of the values do not matter."""
    n = len(values)
    largest = float(np.abs(values).max())
    exponent = math.frexp(largest)[1]
    scaled = np.ldexp(values, -exponent).tolist()
    mean = math.fsum(scaled) / n
    squares = [(value - mean) ** 2 for value in scaled]
    variance = math.fsum(squares) / (n - 1)
    t = student_t_quantile((1 + level) / 2, n - 1)
    reach = t * math.sqrt(variance / n)
    estimate = math.ldexp(mean, exponent)
    low = math.ldexp(mean - reach, exponent)
    high = math.ldexp(mean + reach, exponent)
    return estimate, low, high


def _log_t(values: Array, level: float, sign: int) -> tuple[float, float, float]:
    """The t-interval on the logarithms of sorted values of one sign."""
    if values[0] == values[-1]:
        value = float(values[0])
        return value, value, value
    logs = t_interval(np.log(np.abs(values)), level)
    values_of_logs = [math.exp(min(log, 709.0)) for log in logs]
    estimate, low, high = [sign * value for value in values_of_logs]
    if sign < 0:
        return estimate, high, low
    return estimate, low, high


def mean_interval(samples: ArrayLike, level: float = 0.95) -> Interval:
    """Student's t-interval of the mean; its notes hold the diagnostics for and against using it."""
    level = checked_fraction("level", level)
    if _is_nested(samples):
        raise Refused(
            "pooling processes ignores what differs between them: pass one mean per process"
        )
    x = as_series(samples)
    n = len(x)
    if n < 3:
        raise TooFewSamples(
            f"a t-interval was asked of {n} values; at least 3 are needed"
        )
    estimate, low, high = t_interval(x, level)
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        n=n,
        level=level,
        quantile=None,
        method="t",
        effective_n=float(n),
        processes=1,
        notes=_t_diagnostics(x),
    )


def _t_diagnostics(x: Array) -> tuple[str, ...]:
    n = len(x)
    if x.min() == x.max():
        warning = "warning: all values are equal, which a t-interval cannot judge"
        return f"n = {n}", warning
    from scipy.stats import shapiro

    z = (x - x.mean()) / np.ptp(x)
    every = math.ceil(n / 5000)
    p = float(shapiro(z[::every]).pvalue)
    normal = normal_quantile((np.arange(n) + 0.5) / n)
    correlations = np.corrcoef(np.sort(z), normal)
    straightness = float(correlations[0, 1])
    lag_1 = float(autocorrelation(z, 1)[1])
    notes = [f"n = {n}", f"Shapiro-Wilk p = {p:.3g}"]
    notes.append(f"Q-Q correlation {straightness:.4f}")
    notes.append(f"lag-1 autocorrelation {lag_1:.2f}")
    if n < SHORT:
        notes.append("warning: too few values to see whether they are normal")
    if p < 0.05 or (n >= SHORT and straightness < 0.95):
        notes.append(
            "warning: the values are not normal, prefer the interval of the median"
        )
    if abs(lag_1) > 1.96 / math.sqrt(n):
        notes.append(
            "warning: the values depend on one another, the interval is not to be trusted"
        )
    return tuple(notes)
