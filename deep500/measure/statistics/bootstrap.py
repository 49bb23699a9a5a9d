"""The hierarchical bootstrap: intervals of any statistic, by resampling processes and then their values."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import Deep500Error, TooFewSamples
from .distributions import Array
from .intervals import (
    ONE_PROCESS,
    Interval,
    Samples,
    as_processes,
    checked_fraction,
    smallest_sample,
)


def bootstrap(
    processes: Samples,
    statistic: Callable[..., Any] = np.median,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The percentile interval of a statistic of pooled values, resampling processes, then their values."""
    level = checked_fraction("level", level)
    series = as_processes(processes)
    count = len(series)
    n = sum(map(len, series))
    _check_bootstrap(count, n, level, resamples)
    draws = _resampled(series, statistic, resamples, np.random.default_rng(seed))
    estimate = float(statistic(np.concatenate(series)))
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = map(float, np.quantile(draws, tails))
    low, high = min(low, estimate), max(high, estimate)
    size = float(count)
    notes: tuple[str, ...] = ()
    if count == 1:
        size = float(n)
        notes = (ONE_PROCESS,)
    elif count < 10:
        notes = ("few processes: a percentile bootstrap is too narrow",)
    method = f"hierarchical bootstrap, {resamples} resamples"
    return Interval(
        estimate=estimate,
        low=low,
        high=high,
        n=n,
        level=level,
        quantile=None,
        method=method,
        effective_n=size,
        processes=count,
        notes=notes,
    )


def _check_bootstrap(count: int, n: int, level: float, resamples: int) -> None:
    if count == 2:
        raise TooFewSamples(
            "a bootstrap over 2 processes was asked for; at least 3 are needed"
        )
    needed = smallest_sample(0.5, level)
    if count == 1 and n < needed:
        raise TooFewSamples(
            f"a bootstrap of {n} values was asked for; at least {needed} are needed"
        )
    if resamples < 1:
        raise Deep500Error(f"a bootstrap needs resamples, got {resamples}")


def _resampled(
    series: list[Array],
    statistic: Callable[..., Any],
    resamples: int,
    random: np.random.Generator,
) -> Array:
    """The statistic of every resample, vectorised where it takes an axis and all processes have one size."""
    sizes = {len(values) for values in series}
    if len(sizes) == 1 and statistic in (np.median, np.mean):
        return _resampled_table(np.array(series), statistic, resamples, random)
    count = len(series)
    statistics = []
    for chosen in random.integers(count, size=(resamples, count)):
        processes = [series[i] for i in chosen]
        pooled = [random.choice(values, len(values)) for values in processes]
        statistics.append(float(statistic(np.concatenate(pooled))))
    return np.array(statistics)


def _resampled_table(
    table: Array,
    statistic: Callable[..., Any],
    resamples: int,
    random: np.random.Generator,
) -> Array:
    """The statistic of every resample of a table of processes x values, in chunks that fit the memory."""
    count, size = table.shape
    chunk = max(1, 2_000_000 // table.size)
    parts = []
    for start in range(0, resamples, chunk):
        draws = min(chunk, resamples - start)
        rows = random.integers(count, size=(draws, count))[:, :, None]
        columns = random.integers(size, size=(draws, count, size))
        pooled = table[rows, columns].reshape(draws, -1)
        parts.append(statistic(pooled, axis=1))
    return np.concatenate(parts)
