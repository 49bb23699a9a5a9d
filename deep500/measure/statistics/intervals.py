"""Confidence intervals of quantiles by ranks, aware of dependence within a series and of processes."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
Samples = (
    ArrayLike | Sequence[ArrayLike]
)  # one series in the order measured, or a list, one per process


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    `effective_n` is how many independent values (or processes) the n values are worth; `quantile` is None
    where the estimate is none.
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
        near, far = sorted((abs(self.low), abs(self.high)))
        return (
            math.sqrt(far / near) - 1
            if near > 0 and (self.low > 0) == (self.high > 0)
            else math.inf
        )


def interval(samples: Samples, quantile: float = 0.5, level: float = 0.95) -> Interval:
    """The interval of a quantile of one series in the order measured, or of a list, one per process.

    With 3 to 5 processes the logs of values of one sign are used: of log ratios, pass the ratios.
    """
    quantile, level = _fraction("quantile", quantile), _fraction("level", level)
    series = _processes(samples)
    if len(series) > 1:
        return _of_processes(series, quantile, level)
    return _of_series(
        series[0], quantile, level, (ONE_PROCESS,) if _is_nested(samples) else ()
    )


def smallest_sample(quantile: float, level: float) -> int:
    """The fewest values whose extremes enclose the quantile with this probability (p99 at 0.95: 299)."""
    return _fewest(quantile, 1 - level)


def _fewest(quantile: float, alpha: float) -> int:
    rare = min(quantile, 1 - quantile)
    n = max(1, int(min(math.log(max(alpha, 1e-300)) / math.log1p(-rare), 1e15)) - 1)
    while n < 1e15 and math.exp(n * math.log1p(-rare)) + rare**n > alpha:
        n += 1
    return n


def _is_nested(samples: Any) -> bool:
    return (
        isinstance(samples, list | tuple)
        and len(samples) > 0
        and not np.isscalar(samples[0])
    )


def _processes(samples: Any) -> list[Array]:
    return (
        [as_series(values) for values in samples]
        if _is_nested(samples)
        else [as_series(samples)]
    )


def _fraction(name: str, value: float) -> float:
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
    return "the median" if quantile == 0.5 else f"p{100 * quantile:g}"


def _of_series(
    x: Array, quantile: float, level: float, notes: tuple[str, ...]
) -> Interval:
    n, alpha = len(x), 1 - level
    asked = f"{_name(quantile)} at {100 * level:g} % was asked of {n} values"
    needed = smallest_sample(quantile, level)
    if n < needed:
        raise TooFewSamples(f"{asked}; at least {needed} are needed")
    ordered = np.sort(x)
    if ordered[0] == ordered[-1]:
        value = float(ordered[0])
        return Interval(
            value,
            value,
            value,
            n,
            level,
            quantile,
            "all values equal",
            float(n),
            1,
            notes,
        )
    tau, df = dependence(x, quantile)
    size, method = float(n), "binomial ranks, Nyblom-interpolated"
    if tau > 1:
        size, alpha = n / tau, 2 * normal_cdf(-student_t_quantile(1 - alpha / 2, df))
        notes += (f"dependent: the {n} values count as {size:.1f}",)
        method += ", effective n"
    elif n < SHORT:
        notes += (f"fewer than {SHORT} values: dependence unchecked",)
    ranks = _ranks(size, quantile, alpha)
    if ranks is None:
        more = math.ceil(_fewest(quantile, alpha) * tau)
        raise TooFewSamples(
            f"{asked} so dependent that they count as {size:.1f}; about {more} are needed"
        )
    # ranks of the effective sample, as the same shares of the real one
    low, high = _between(ordered, *(rank * (n + 1) / (size + 1) for rank in ranks))
    estimate = _quantile_of(ordered, quantile)
    low, high = min(low, estimate), max(high, estimate)
    return Interval(estimate, low, high, n, level, quantile, method, size, 1, notes)


@lru_cache(maxsize=4096)
def _ranks(n: float, quantile: float, alpha: float) -> tuple[float, float] | None:
    """Fractional ranks of the lower end, from below, and the upper end, from above; None if n is too small.

    Where one end cannot have half of alpha, it is the extreme value and the other end gets the rest.
    """
    beyond_low, beyond_high = (1 - quantile) ** n, quantile**n
    if beyond_low + beyond_high > alpha:
        return None
    below = min(max(alpha / 2, beyond_low), alpha - beyond_high)
    above = min(max(alpha / 2, beyond_high), alpha - beyond_low)
    return _nyblom_rank(n, quantile, below), _nyblom_rank(n, 1 - quantile, above)


def _nyblom_rank(n: float, quantile: float, tail: float) -> float:
    """The rank whose value, interpolated linearly, exceeds the quantile with probability tail (Nyblom)."""
    # without the tolerance, rounding would cost the extreme rank where the tail is exactly its probability
    rank = bisect_right(
        range(math.ceil(n)),
        tail * (1 + 1e-12),
        key=lambda k: binomial_cdf(k, n, quantile),
    )
    rank = max(rank, 1)
    outer, inner = binomial_cdf(rank - 1, n, quantile), binomial_cdf(rank, n, quantile)
    if rank >= n or tail <= outer:
        return float(rank)
    return rank + 1 / (
        1
        + rank
        * (1 - quantile)
        * (inner - tail)
        / ((n - rank) * quantile * (tail - outer))
    )


def _at(ordered: Array, rank: float) -> float:
    """The value of a fractional rank, counted from 1."""
    whole = int(rank)
    here, after = (
        float(ordered[max(whole, 1) - 1]),
        float(ordered[min(whole, len(ordered) - 1)]),
    )
    # weights rather than a step, so that mirrored values give exactly mirrored results
    return (
        here
        if whole < 1 or here == after
        else (1 - rank + whole) * here + (rank - whole) * after
    )


def _between(
    ordered: Array, from_below: float, from_above: float
) -> tuple[float, float]:
    return _at(ordered, from_below), -_at(-ordered[::-1], from_above)


def _quantile_of(ordered: Array, quantile: float) -> float:
    """The median-unbiased sample quantile."""
    return _at(ordered, quantile * len(ordered) + (1 + quantile) / 3)


def _of_processes(series: list[Array], quantile: float, level: float) -> Interval:
    count, shortest = len(series), min(map(len, series))
    if count < 3:
        raise TooFewSamples(
            f"an interval over {count} processes was asked for; at least 3 are needed"
        )
    fewest = (
        1 if quantile == 0.5 else math.ceil(round(3 / min(quantile, 1 - quantile), 6))
    )
    if shortest < fewest:
        asked = f"{_name(quantile)} was asked of a process of {shortest} values"
        raise TooFewSamples(f"{asked}; at least {fewest} are needed")
    medians = np.sort([_quantile_of(np.sort(values), quantile) for values in series])
    what = "medians" if quantile == 0.5 else _name(quantile)
    ranks = _ranks(float(count), 0.5, 1 - level) if count >= 6 else None
    if ranks:
        method = f"binomial ranks of process {what}, Nyblom-interpolated"
        estimate, (low, high) = _quantile_of(medians, 0.5), _between(medians, *ranks)
    else:
        values = np.concatenate(series)
        sign = 1 if values.min() > 0 else -1 if values.max() < 0 else 0
        method = f"t on log process {what}" if sign else f"t on process {what}"
        estimate, low, high = (
            _log_t(medians, level, sign) if sign else _t(medians, level)
        )
    low, high = min(low, estimate), max(high, estimate)
    return Interval(
        estimate,
        low,
        high,
        sum(map(len, series)),
        level,
        quantile,
        method,
        float(count),
        count,
    )


def _t(values: Array, level: float) -> tuple[float, float, float]:
    """Mean and t-interval, scaled and summed exactly: unit, order and sign of the values do not matter."""
    n, exponent = len(values), math.frexp(float(np.abs(values).max()))[1]
    scaled = np.ldexp(values, -exponent).tolist()
    mean = math.fsum(scaled) / n
    variance = math.fsum((value - mean) ** 2 for value in scaled) / (n - 1)
    reach = student_t_quantile((1 + level) / 2, n - 1) * math.sqrt(variance / n)
    return (
        math.ldexp(mean, exponent),
        math.ldexp(mean - reach, exponent),
        math.ldexp(mean + reach, exponent),
    )


def _log_t(values: Array, level: float, sign: int) -> tuple[float, float, float]:
    """The t-interval on the logs of values of one sign."""
    if values[0] == values[-1]:
        return (float(values[0]),) * 3
    estimate, low, high = (
        sign * math.exp(min(end, 709.0)) for end in _t(np.log(np.abs(values)), level)
    )
    return (estimate, low, high) if sign > 0 else (estimate, high, low)


def mean_interval(samples: ArrayLike, level: float = 0.95) -> Interval:
    """Student's t-interval of the mean, with the diagnostics that speak for or against it as notes."""
    level = _fraction("level", level)
    if _is_nested(samples):
        raise Refused(
            "pooling processes ignores what differs between them: pass one mean per process"
        )
    x = as_series(samples)
    if len(x) < 3:
        raise TooFewSamples(
            f"a t-interval was asked of {len(x)} values; at least 3 are needed"
        )
    return Interval(
        *_t(x, level), len(x), level, None, "t", float(len(x)), 1, _t_diagnostics(x)
    )


def _t_diagnostics(x: Array) -> tuple[str, ...]:
    n = len(x)
    if x.min() == x.max():
        return (
            f"n = {n}",
            "warning: all values are equal, which a t-interval cannot judge",
        )
    from scipy.stats import shapiro

    z = (x - x.mean()) / np.ptp(x)
    p = float(shapiro(z[:: math.ceil(n / 5000)]).pvalue)
    straight = float(
        np.corrcoef(np.sort(z), normal_quantile((np.arange(n) + 0.5) / n))[0, 1]
    )
    lag_1 = float(autocorrelation(z, 1)[1])
    notes = [f"n = {n}", f"Shapiro-Wilk p = {p:.3g}", f"Q-Q correlation {straight:.4f}"]
    notes.append(f"lag-1 autocorrelation {lag_1:.2f}")
    if n < SHORT:
        notes.append("warning: too few values to see whether they are normal")
    if p < 0.05 or (n >= SHORT and straight < 0.95):
        notes.append(
            "warning: the values are not normal, prefer the interval of the median"
        )
    if abs(lag_1) > 1.96 / math.sqrt(n):
        notes.append(
            "warning: the values depend on one another, the interval is not to be trusted"
        )
    return tuple(notes)


def bootstrap(
    processes: Samples,
    statistic: Callable[..., Any] = np.median,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The percentile interval of a statistic of pooled values, resampling processes, then their values."""
    level = _fraction("level", level)
    series = _processes(processes)
    count, n = len(series), sum(map(len, series))
    if count == 2:
        raise TooFewSamples(
            "a bootstrap over 2 processes was asked for; at least 3 are needed"
        )
    if count == 1 and n < (needed := smallest_sample(0.5, level)):
        raise TooFewSamples(
            f"a bootstrap of {n} values was asked for; at least {needed} are needed"
        )
    if resamples < 1:
        raise Deep500Error(f"a bootstrap needs resamples, got {resamples}")
    draws = _resampled(series, statistic, resamples, np.random.default_rng(seed))
    estimate = float(statistic(np.concatenate(series)))
    low, high = (
        float(end) for end in np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    )
    low, high, size = (
        min(low, estimate),
        max(high, estimate),
        float(count if count > 1 else n),
    )
    note = (
        ONE_PROCESS
        if count == 1
        else "few processes: a percentile bootstrap is too narrow"
    )
    notes = (note,) if count < 10 else ()
    method = f"hierarchical bootstrap, {resamples} resamples"
    return Interval(estimate, low, high, n, level, None, method, size, count, notes)


def _resampled(
    series: list[Array],
    statistic: Callable[..., Any],
    resamples: int,
    random: np.random.Generator,
) -> Array:
    """The statistic of every resample: all at once where processes have one size and it takes an axis."""
    count, sizes = len(series), {len(values) for values in series}
    if len(sizes) > 1 or statistic not in (np.median, np.mean):
        chosen = random.integers(count, size=(resamples, count))
        pooled = (
            [random.choice(series[i], len(series[i])) for i in row] for row in chosen
        )
        return np.array([float(statistic(np.concatenate(values))) for values in pooled])
    table, size, parts = np.array(series), sizes.pop(), []
    chunk = max(1, 2_000_000 // table.size)
    for start in range(0, resamples, chunk):
        shape = (min(chunk, resamples - start), count, size)
        rows, columns = (
            random.integers(count, size=shape[:2])[:, :, None],
            random.integers(size, size=shape),
        )
        parts.append(statistic(table[rows, columns].reshape(shape[0], -1), axis=1))
    return np.concatenate(parts)
