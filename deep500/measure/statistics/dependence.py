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
NEGLIGIBLE = 1.15  # widens an interval by 7 %, less than the estimate of it is good for
_GATE_LAGS, _GATE = 5, 4.351  # the median of chi-square with as many degrees of freedom


class Dependence(NamedTuple):
    """tau values count as one (1: independent, as far as one sees); df says how well tau itself is known."""

    tau: float
    df: float


def as_series(values: ArrayLike) -> Array:
    """The values as a one-dimensional float array, or a Deep500Error that says what is wrong with them."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise Deep500Error(
            "samples must be numbers in one dimension, these are ragged"
        ) from error
    if array.ndim != 1 or (array.dtype.kind not in "iuf" and array.size):
        found = f"{array.ndim}-D {array.dtype}"
        advice = (
            "; for rows that are processes pass list(samples)"
            if array.ndim == 2
            else ""
        )
        raise Deep500Error(
            f"samples must be numbers in one dimension, got {found}{advice}"
        )
    if not array.size:
        raise Deep500Error("no samples: at least one value is needed")
    array = array.astype(float)
    bad = int(np.count_nonzero(~(np.abs(array) <= LARGEST)))
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
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    last = np.append(first[1:], n)
    centred = (first + last - n) / (2 * n)
    scores = np.empty(n)
    scores[order] = np.repeat(
        np.copysign(normal_quantile(0.5 - np.abs(centred)), centred), last - first
    )
    return scores


def autocorrelation(z: Array, lags: int) -> Array:
    """Autocorrelations of lag 0 to lags, mean removed; a constant series has none."""
    z = z - z.mean()
    size = 1 << (2 * len(z) - 1).bit_length()
    spectrum = np.fft.rfft(z, size)
    covariance = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[: lags + 1]
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
    angle = np.linspace(-math.pi / 2, math.pi / 2, 2001)
    square = float(normal_quantile(quantile)) ** 2
    rate = np.exp(-square / np.maximum(1 + np.sin(angle), 1e-12))
    integral = np.concatenate(
        ([0.0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(angle)))
    )
    return angle, (integral - integral[1000]) / (
        2 * math.pi * quantile * (1 - quantile)
    )


def initial_monotone(rho: Array) -> tuple[float, int]:
    """Geyer's initial monotone sequence estimate of 1 + 2 sum rho, and the lag at which the sum was cut."""
    half = len(rho) // 2
    pairs = rho[0 : 2 * half : 2] + rho[1 : 2 * half : 2]
    negative = pairs <= 0
    count = int(negative.argmax()) if negative.any() else half
    return max(
        2 * float(np.minimum.accumulate(pairs[:count]).sum()) - 1, 1e-3
    ), 2 * count - 1


def first_order(rho_1: float, n: int) -> float:
    """The first-order autocorrelation with the bias of a short series removed, between 0 and 0.998."""
    return min(max((n * rho_1 + 1) / (n - 3), 0.0), 0.998)


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
        return Dependence(1.0, math.inf)
    rho = autocorrelation(normal_scores(x), min(n - 2, max(10, int(10 * math.sqrt(n)))))
    if n < SHORT:
        return Dependence(float(n) if rho[1] > 1.96 / math.sqrt(n) else 1.0, n / 2)
    r = first_order(float(rho[1]), n)
    tau, df = _first_order_tau(r, quantile), n * (1 - r * r) / 2
    if n >= MIDDLING:
        # half of all independent series end here; of those that matter, next to none
        if n * float(rho[1 : _GATE_LAGS + 1] @ rho[1 : _GATE_LAGS + 1]) < _GATE:
            return Dependence(1.0, math.inf)
        wide, cut = initial_monotone(
            indicator_correlation(without_bias(rho, n), quantile)
        )
        tau, df = max(tau, wide), n / (2 * cut + 1)
    return (
        Dependence(tau, max(df, 3.0))
        if tau >= NEGLIGIBLE
        else Dependence(1.0, math.inf)
    )


def _first_order_tau(r: float, quantile: float) -> float:
    if r <= 0:
        return 1.0
    lags = np.arange(1, min(int(9 / -math.log(r)), 5000) + 2)
    return 1 + 2 * float(
        indicator_correlation(np.exp(math.log(r) * lags), quantile).sum()
    )
