"""Whether values are as independent as their interval takes them for; where not, by how much it is too narrow.

Processes are taken for independent: from ten on, the correlation of successive ones is tested. The values of one
process may depend on each other for a short while, which their interval allows for: what changes slowly (long memory, a
mode that is kept for many calls) shows as an excess of the lowest frequencies.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .dependence import Array, autocorrelation, normal_scores
from .distributions import student_t_quantile

FEWEST_PROCESSES = 10
FEWEST_VALUES = 200
# One-sided tests: 10 % of independent processes are called dependent.
CRITICAL_PROCESSES = 1.282
FREQUENCIES = 0.65  # n to this power: the lowest ones, by which slow changes are told
# What an interval lacks under long memory (Hurst 0.7 to 0.95) and slow switching, by simulation, from so many standard
# errors on: series with a short memory reach the first in 1 to 2 % and the second in 14 %.
SLOW_FACTORS = ((2.33, 5.0), (1.28, 3.0))
# What is assumed of processes that are found dependent: a correlation so many standard errors above the one seen.
CAUTION = 1.5
MOST_CORRELATED = 0.99
FEWEST_DF = 1.5


@dataclass(frozen=True)
class Widening:
    """By which factor an interval is too narrow, and why; 1 where nothing is seen."""

    factor: float
    reason: str = ""


AS_IT_IS = Widening(1.0)


def widening(series: Sequence[Array]) -> Widening:
    """What the order of the processes, or of the values of a single one, says about the interval of their median."""
    if len(series) == 1:
        return _of_values(series[0])
    medians = np.array([np.median(values) for values in series])
    return _of_processes(medians)


def _of_processes(medians: Array) -> Widening:
    n = len(medians)
    if n < FEWEST_PROCESSES:
        return AS_IT_IS
    r = float(autocorrelation(normal_scores(medians), 1)[1])
    # for independent values: mean -1 / n, spread a little below 1 / sqrt(n)
    critical = CRITICAL_PROCESSES * (1 - 1.35 / n)
    if (r + 1 / n) * math.sqrt(n) <= critical:
        return AS_IT_IS
    unbiased = min((n * r + 1) / (n - 3), MOST_CORRELATED)
    error = math.sqrt((1 - unbiased * unbiased) / n)
    possible = min(unbiased + CAUTION * error, MOST_CORRELATED)
    tau = (1 + possible) / (1 - possible)
    # what counts as few has a spread that is known as well as that of few
    df = max(n / tau - 1, FEWEST_DF)
    spread = student_t_quantile(0.975, df) / student_t_quantile(0.975, n - 1)
    factor = math.sqrt(tau) * spread
    reason = (
        f"successive processes depend on each other (correlation {unbiased:.2f}, maybe {possible:.2f}): "
        f"the {n} processes count as {n / tau:.1f}, and the interval is {factor:.2g} times as wide for it"
    )
    return Widening(factor, reason)


def _of_values(values: Array) -> Widening:
    n = len(values)
    if n < FEWEST_VALUES or values.min() == values.max():
        return AS_IT_IS
    memory, count = _long_memory(_without_short_memory(normal_scores(values)))
    errors = 2 * math.sqrt(count) * memory
    for critical, factor in SLOW_FACTORS:
        if errors > critical:
            return _slow(factor)
    return AS_IT_IS


def _slow(factor: float) -> Widening:
    changes = "changes" if factor == SLOW_FACTORS[0][1] else "may change"
    reason = (
        f"the level {changes} slowly (long memory, or modes that are kept for many calls): "
        f"the interval is {factor:g} times as wide for it, and holds for the time of this process only"
    )
    return Widening(factor, reason)


def _without_short_memory(z: Array) -> Array:
    """What a first-order autoregression leaves."""
    r = float(autocorrelation(z, 1)[1])
    return z[1:] - r * z[:-1]


def _long_memory(x: Array) -> tuple[float, int]:
    """The memory parameter (0: none, Hurst's H is 1/2 more), by the local Whittle estimate, and its frequencies.

    Robinson (1995): its standard error is 1 / (2 sqrt(frequencies)).
    """
    n = len(x)
    count = int(n**FREQUENCIES)
    spectrum = np.fft.rfft(x - x.mean())[1 : count + 1]
    power = spectrum.real**2 + spectrum.imag**2
    frequency = 2 * math.pi * np.arange(1, count + 1) / n
    log_frequency = np.log(frequency)
    candidates = np.linspace(-0.4, 1.2, 161)
    scaled = power * np.exp(2 * np.outer(candidates, log_frequency))
    means = np.maximum(scaled.mean(axis=1), 1e-300)
    loss = np.log(means) - 2 * candidates * log_frequency.mean()
    return float(candidates[int(loss.argmin())]), count
