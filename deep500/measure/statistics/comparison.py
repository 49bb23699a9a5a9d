"""Whether b costs more than a: their ratio with its interval, and one of four verdicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...errors import Deep500Error, Refused, TooFewSamples
from .dependence import LARGEST, Array, as_series
from .effects import Effect, paired_effect, two_sample_effect
from .intervals import Interval, interval

Verdict = Literal["slower", "faster", "same", "inconclusive"]
# One series in the order of time, or one per process.
Samples = ArrayLike | Sequence[ArrayLike]
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
# Of a log ratio: a hundred times its rounding error, a nanosecond in a quarter of an hour.
ROUNDING = 1e-12
SMALLEST = 1 / LARGEST  # so that ratios stay finite


@dataclass(frozen=True)
class Comparison:
    """What is known of b's cost relative to a's.

    `ratio` is b / a, `low` and `high` bound it at `level`; "faster" says that b is. `a` and `b` are the
    absolute values, None where they were refused (`notes` says why). `n` counts pairs, or the values of the
    smaller side. `withheld` says that there is no verdict for a reason that more samples do not remove.
    """

    verdict: Verdict
    ratio: float
    low: float
    high: float
    effect: Effect
    a: Interval | None
    b: Interval | None
    margin: float
    level: float
    n: int
    processes: int
    method: str
    notes: tuple[str, ...] = ()
    withheld: bool = False


@dataclass(frozen=True)
class QuantileDifference:
    """The ratio of one quantile of b to the same quantile of a, or the reason why it was refused."""

    q: float
    ratio: float | None
    low: float | None
    high: float | None
    refused: str | None = None


def compare(
    a: Samples,
    b: Samples,
    margin: float = 0.02,
    level: float = 0.95,
    paired: bool = False,
    quantile: float = 0.5,
) -> Comparison:
    """Compare the costs b with the costs a, each a 1-D array or a list of arrays, one per process.

    Paired (every value of b was taken beside its value of a): the median ratio of the pairs. Unpaired: the
    ratio of the two quantiles, from an interval of each. Both respect dependence in time and processes.
    """
    _check_comparison(margin, paired, quantile)
    costs_a = _costs(a, "a")
    costs_b = _costs(b, "b")
    logs_a = _logarithms(costs_a)
    logs_b = _logarithms(costs_b)
    if paired:
        differences = _differences(logs_a, logs_b)
        log_ratio = log_interval(differences, 0.5, level)
        effect = _paired_effect(differences, log_ratio)
    else:
        log_ratio = _log_ratio(logs_a, logs_b, quantile, level)
        effect = _two_sample_effect(logs_a, logs_b, log_ratio)
    notes = list(log_ratio.notes)
    interval_a = _absolute(costs_a, "a", quantile, level, notes)
    interval_b = _absolute(costs_b, "b", quantile, level, notes)
    low = math.exp(log_ratio.low)
    high = math.exp(log_ratio.high)
    return Comparison(
        verdict=verdict_of(low, high, margin),
        ratio=math.exp(log_ratio.estimate),
        low=low,
        high=high,
        effect=effect,
        a=interval_a,
        b=interval_b,
        margin=margin,
        level=level,
        n=log_ratio.n,
        processes=log_ratio.processes,
        method=log_ratio.method,
        notes=tuple(notes),
    )


def _check_comparison(margin: float, paired: bool, quantile: float) -> None:
    if not 0 <= margin < math.inf:
        raise Deep500Error(
            f"the margin is {margin!r}: give a share from 0 up, such as 0.02 for 2 %"
        )
    if paired and quantile != 0.5:
        raise Refused(
            f"the {quantile:g} quantile of paired ratios is no ratio of {quantile:g} quantiles: "
            "compare medians, or set paired=False"
        )


def _paired_effect(differences: list[Array], log_ratio: Interval) -> Effect:
    return paired_effect(np.concatenate(differences), _level_if_independent(log_ratio))


def _two_sample_effect(
    logs_a: list[Array], logs_b: list[Array], log_ratio: Interval
) -> Effect:
    pooled_a = np.concatenate(logs_a)
    pooled_b = np.concatenate(logs_b)
    return two_sample_effect(pooled_a, pooled_b, _level_if_independent(log_ratio))


def verdict_of(low: float, high: float, margin: float) -> Verdict:
    """What an interval of the ratio says, when differences up to the margin do not matter."""
    if low > 1 + margin:
        return "slower"
    if high < 1 / (1 + margin):
        return "faster"
    if 1 / (1 + margin) < low and high < 1 + margin:
        return "same"
    return "inconclusive"


def quantile_differences(
    a: Samples,
    b: Samples,
    quantiles: Sequence[float] = QUANTILES,
    level: float = 0.95,
) -> tuple[QuantileDifference, ...]:
    """The ratio b / a quantile by quantile, unpaired; the level holds for each interval by itself."""
    logs_a = _logarithms(_costs(a, "a"))
    logs_b = _logarithms(_costs(b, "b"))
    return tuple(_quantile_difference(logs_a, logs_b, q, level) for q in quantiles)


def more_needed(estimate: Interval | Comparison, precision: float) -> int:
    """About how many more samples (processes, where there are several) narrow the interval to the precision.

    Its half-width is sqrt(high / low) - 1 and shrinks with the square root; a rough figure, at least 1.
    """
    if not 0 < precision < math.inf:
        raise Deep500Error(
            f"the precision is {precision!r}: give a share above 0, such as 0.02 for 2 %"
        )
    if estimate.low <= 0:
        raise Deep500Error(
            f"the interval starts at {estimate.low:g}: relative precision needs positive values"
        )
    units = estimate.processes if estimate.processes > 1 else estimate.n
    half_width = math.log(estimate.high / estimate.low) / 2
    growth = (half_width / math.log1p(precision)) ** 2
    return max(1, math.ceil(units * (growth - 1)))


def processes_of(samples: Any, name: str) -> list[Array]:
    """The samples as arrays of finite numbers, one per process; an error says the name."""
    try:
        is_list = isinstance(samples, list | tuple) and samples
        if is_list and np.ndim(samples[0]):
            return [as_series(values) for values in samples]
        return [as_series(samples)]
    except (Deep500Error, ValueError) as error:  # ragged lists are a ValueError
        raise Deep500Error(f"{name}: {error}") from None


def _costs(samples: Samples, name: str) -> list[Array]:
    series = processes_of(samples, name)
    for values in series:
        if values.min() < SMALLEST:
            raise Deep500Error(
                f"{name} holds {values.min():g}: a ratio needs costs above zero (from {SMALLEST:g})"
            )
    return series


def _logarithms(series: list[Array]) -> list[Array]:
    return [np.log(values) for values in series]


def _differences(logs_a: list[Array], logs_b: list[Array]) -> list[Array]:
    if len(logs_a) != len(logs_b):
        raise Deep500Error(
            f"a has {len(logs_a)} processes and b {len(logs_b)}, which are no pairs: "
            "give as many, or set paired=False"
        )
    for k, (x, y) in enumerate(zip(logs_a, logs_b, strict=True)):
        if x.size != y.size:
            raise Deep500Error(
                f"process {k} has {x.size} values of a and {y.size} of b, which are no pairs: "
                "give as many, or set paired=False"
            )
    differences = map(np.subtract, logs_b, logs_a)
    return [_tied(values) for values in differences]


def _tied(differences: Array) -> Array:
    """The differences, equal where only rounding tells them apart: split ties make ranks depend on the unit."""
    order = np.argsort(differences, kind="stable")
    ordered = differences[order]
    is_new = np.diff(ordered, prepend=-math.inf) > ROUNDING
    equal = np.empty_like(ordered)
    equal[order] = ordered[is_new][np.cumsum(is_new) - 1]
    equal[np.abs(equal) <= ROUNDING] = 0.0
    return equal


def log_interval(logs: list[Array], quantile: float, level: float) -> Interval:
    """The interval of logarithms; they are centred first, so that it is not computed on their logarithms."""
    centre = float(np.median(np.concatenate(logs)))
    centred = _interval([values - centre for values in logs], quantile, level)
    return replace(
        centred,
        estimate=centred.estimate + centre,
        low=centred.low + centre,
        high=centred.high + centre,
    )


def _log_ratio(
    logs_a: list[Array], logs_b: list[Array], quantile: float, level: float
) -> Interval:
    log_a = log_interval(logs_a, quantile, level)
    log_b = log_interval(logs_b, quantile, level)
    return _mover(log_a, log_b)


def _interval(series: list[Array], quantile: float, level: float) -> Interval:
    if len(series) == 1:
        return interval(series[0], quantile, level)
    return interval(series, quantile, level)


def _mover(a: Interval, b: Interval) -> Interval:
    """The interval of b - a from both, by the method of variance estimates recovery (Zou & Donner)."""
    difference = b.estimate - a.estimate
    reach_below = math.hypot(b.estimate - b.low, a.high - a.estimate)
    reach_above = math.hypot(b.high - b.estimate, a.estimate - a.low)
    n = min(a.n, b.n)
    effective_share = min(a.effective_n / a.n, b.effective_n / b.n)
    method = a.method
    if a.method != b.method:
        method = f"a: {a.method}; b: {b.method}"
    return replace(
        a,
        estimate=difference,
        low=difference - reach_below,
        high=difference + reach_above,
        n=n,
        effective_n=n * effective_share,
        processes=min(a.processes, b.processes),
        method=f"intervals of both sides combined by MOVER ({method})",
        notes=tuple(dict.fromkeys(a.notes + b.notes)),
    )


def _level_if_independent(log_ratio: Interval) -> float | None:
    if log_ratio.processes == 1 and log_ratio.effective_n >= log_ratio.n:
        return log_ratio.level
    return None


def _absolute(
    costs: list[Array],
    name: str,
    quantile: float,
    level: float,
    notes: list[str],
) -> Interval | None:
    try:
        return _interval(costs, quantile, level)
    except TooFewSamples as reason:
        notes.append(f"no interval for {name} alone: {reason}")
        return None


def _quantile_difference(
    logs_a: list[Array], logs_b: list[Array], q: float, level: float
) -> QuantileDifference:
    try:
        log_ratio = _log_ratio(logs_a, logs_b, q, level)
    except TooFewSamples as reason:
        return QuantileDifference(
            q=q, ratio=None, low=None, high=None, refused=str(reason)
        )
    ratio = math.exp(log_ratio.estimate)
    low = math.exp(log_ratio.low)
    high = math.exp(log_ratio.high)
    return QuantileDifference(q=q, ratio=ratio, low=low, high=high)
