"""How many independent values a series of dependent ones is worth, for the interval of a quantile.

Everything runs on normal scores of ranks, so that outliers and units do not matter: the autocorrelation of
the scores is mapped by the Gaussian copula to that of the indicator "below the quantile", whose sum is what
widens the interval.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import Deep500Error
from .distributions import Array, normal_quantile

LARGEST = 1e150  # what can be squared
SHORT = 20  # below: dependence can only be seen when it is gross
MIDDLING = 50  # below: only a first-order model can be fitted
# widens an interval by 7 %, less than the estimate of it is good for
NEGLIGIBLE = 1.15
# the median of chi-square with as many degrees of freedom
_GATE_LAGS, _GATE = 5, 4.351


class Dependence(NamedTuple):
    """tau values count as one (1: independent, as far as one sees); df says how well tau itself is known."""

    tau: float
    df: float


INDEPENDENT = Dependence(1.0, math.inf)


def as_series(values: ArrayLike) -> Array:
    """The values as a one-dimensional float array; raises a Deep500Error if they are not finite numbers."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise Deep500Error(
            "samples must be numbers in one dimension, these are ragged"
        ) from error
    is_numeric = array.dtype.kind in "iuf" or not array.size
    if array.ndim != 1 or not is_numeric:
        advice = ""
        if array.ndim == 2:
            advice = "; for rows that are processes pass list(samples)"
        kind = f"{array.ndim}-D {array.dtype}"
        raise Deep500Error(
            f"samples must be numbers in one dimension, got {kind}{advice}"
        )
    if not array.size:
        raise Deep500Error("no samples: at least one value is needed")
    array = array.astype(float)
    is_finite = np.abs(array) <= LARGEST
    bad = int(np.count_nonzero(~is_finite))
    if bad:
        limit = f"finite (up to {LARGEST:g})"
        raise Deep500Error(
            f"samples must be {limit}, {bad} of {array.size} are not: find out why"
        )
    return array


def normal_scores(x: Array) -> Array:
    """Normal quantiles of (rank - 1/2) / n, ties at their average rank; those of -x are exactly negated."""
    n = len(x)
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    differs = ordered[1:] != ordered[:-1]
    is_new = np.concatenate(([True], differs))
    first = np.flatnonzero(is_new)
    last = np.append(first[1:], n)
    centred = (first + last - n) / (2 * n)
    distances = normal_quantile(0.5 - np.abs(centred))
    distinct_scores = np.copysign(distances, centred)
    scores = np.empty(n)
    scores[order] = np.repeat(distinct_scores, last - first)
    return scores


def autocorrelation(z: Array, lags: int) -> Array:
    """Autocorrelations of lag 0 to lags, mean removed; a constant series has none."""
    z = z - z.mean()
    size = 1 << (2 * len(z) - 1).bit_length()
    spectrum = np.fft.rfft(z, size)
    power = spectrum.real**2 + spectrum.imag**2
    covariance = np.fft.irfft(power, size)[: lags + 1]
    if covariance[0] <= 0:
        return np.concatenate(([1.0], np.zeros(lags)))
    return covariance / covariance[0]


def indicator_correlation(rho: Array, quantile: float) -> Array:
    """Correlation of the indicators of being below the quantile, for a Gaussian copula of correlation rho."""
    angle = np.arcsin(rho)
    if quantile == 0.5:
        return angle * (2 / math.pi)
    return np.interp(angle, *_copula_table(quantile))


@lru_cache(maxsize=64)
def _copula_table(quantile: float) -> tuple[Array, Array]:
    """The integral of exp(-h^2 / (1 + sin t)) / (2 pi q (1 - q)) from 0, over a grid of angles t."""
    right_angle = math.pi / 2
    angle = np.linspace(-right_angle, right_angle, 2001)
    square = float(normal_quantile(quantile)) ** 2
    denominator = np.maximum(1 + np.sin(angle), 1e-12)
    rate = np.exp(-square / denominator)
    middle = (rate[1:] + rate[:-1]) / 2
    trapezia = middle * np.diff(angle)
    integral = np.concatenate(([0.0], np.cumsum(trapezia)))
    from_zero = integral - integral[1000]
    scale = 2 * math.pi * quantile * (1 - quantile)
    return angle, from_zero / scale


def initial_monotone(rho: Array) -> tuple[float, int]:
    """Geyer's initial monotone sequence estimate of 1 + 2 sum rho, and the lag at which the sum was cut."""
    half = len(rho) // 2
    even = rho[0 : 2 * half : 2]
    odd = rho[1 : 2 * half : 2]
    pairs = even + odd
    is_negative = pairs <= 0
    count = half
    if is_negative.any():
        count = int(is_negative.argmax())
    total = float(np.minimum.accumulate(pairs[:count]).sum())
    return max(2 * total - 1, 1e-3), 2 * count - 1


def first_order(rho_1: float, n: int) -> float:
    """The first-order autocorrelation with the bias of a short series removed, between 0 and 0.998."""
    unbiased = (n * rho_1 + 1) / (n - 3)
    return min(max(unbiased, 0.0), 0.998)


def without_bias(rho: Array, n: int) -> Array:
    """Autocorrelations with what removing the mean cost them, tau / n, given back; three passes settle it."""
    tau, corrected = 1.0, rho
    for _ in range(3):
        corrected = np.minimum(rho + tau / n, 1.0)
        tau = min(initial_monotone(corrected)[0], n / 4)
    return corrected


def dependence(x: Array, quantile: float = 0.5) -> Dependence:
    """What the order of x says about the interval of its quantile."""
    n = len(x)
    if n < 4:
        return INDEPENDENT
    lags = max(10, int(10 * math.sqrt(n)))
    lags = min(n - 2, lags)
    rho = autocorrelation(normal_scores(x), lags)
    if n < SHORT:
        is_gross = rho[1] > 1.96 / math.sqrt(n)
        return Dependence(float(n) if is_gross else 1.0, n / 2)
    r = first_order(float(rho[1]), n)
    tau = _first_order_tau(r, quantile)
    df = n * (1 - r * r) / 2
    if n >= MIDDLING:
        # half of all independent series end here; of those that matter, next to none
        first_lags = rho[1 : _GATE_LAGS + 1]
        if n * float(first_lags @ first_lags) < _GATE:
            return INDEPENDENT
        correlation = indicator_correlation(without_bias(rho, n), quantile)
        monotone_tau, cut = initial_monotone(correlation)
        tau = max(tau, monotone_tau)
        df = n / (2 * cut + 1)
    if tau < NEGLIGIBLE:
        return INDEPENDENT
    return Dependence(tau, max(df, 3.0))


def _first_order_tau(r: float, quantile: float) -> float:
    if r <= 0:
        return 1.0
    log_r = math.log(r)
    count = min(int(9 / -log_r), 5000)
    lags = np.arange(1, count + 2)
    correlation = indicator_correlation(np.exp(log_r * lags), quantile)
    return 1 + 2 * float(correlation.sum())
