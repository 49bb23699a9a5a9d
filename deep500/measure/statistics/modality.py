"""Whether values gather around more than one place, so that a single number would not describe them."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from .dependence import as_series
from .distributions import Array

FEWEST = 30  # below, nothing is claimed
SMALLEST_SHARE = 0.1  # a mode with less is a tail or a handful of outliers
SHALLOWEST = 0.9  # a valley must lie below this share of the lower of its two peaks


@dataclass(frozen=True)
class Mode:
    """A place that values gather around (their median there) and the share of the values that do."""

    at: float
    share: float


def modes(samples: ArrayLike, smallest_gap: float = 0.02) -> tuple[Mode, ...]:
    """The modes from left to right, at least smallest_gap apart: relatively, if all values are positive."""
    x = np.sort(as_series(samples))
    if len(x) < FEWEST or x[0] == x[-1]:
        return (Mode(float(np.median(x)), 1.0),)
    y = _untied(x)
    positive = bool(x[0] > 0)
    grid, density, width = _density(np.log(y) if positive else y)
    gap = math.log1p(smallest_gap) if positive else smallest_gap
    cuts = [
        float(grid[valley]) for valley in _valleys(grid, density, width, len(x), gap)
    ]
    parts = np.split(x, np.searchsorted(y, np.exp(cuts) if positive else cuts))
    return tuple(Mode(float(np.median(part)), len(part) / len(x)) for part in parts)


def _untied(ordered: Array) -> Array:
    """Tied values spread over one step of the clock, so that its ticks are not taken for modes."""
    values, counts = np.unique(ordered, return_counts=True)
    gaps = np.diff(values)
    nearest = np.minimum(np.append(gaps, np.inf), np.concatenate(([np.inf], gaps)))
    step = np.quantile(np.repeat(nearest, counts), 0.1)
    place = np.arange(len(ordered)) - np.repeat(np.cumsum(counts) - counts, counts)
    spread = ordered + step * ((place + 0.5) / np.repeat(counts, counts) - 0.5)
    return np.sort(np.maximum(spread, ordered / 2)) if ordered[0] > 0 else spread


def _density(y: Array) -> tuple[Array, Array, float]:
    """A Gaussian kernel estimate over all but the outermost values: grid, density, bandwidth."""
    n = len(y)
    low, first, third, high = np.quantile(y, [0.01, 0.25, 0.75, 0.99])
    spread = min(y.std(), (third - first) / 1.34) if third > first else y.std()
    width = max(1.1 * spread * n**-0.2, (high - low) / 20_000)
    step = width / 4
    start, count = low - 3 * width, int((high - low + 6 * width) / step) + 2
    position = (y - start) / step
    position = position[(position >= 0) & (position < count - 1)]
    left = position.astype(int)
    weights = np.bincount(left, 1 - (position - left), count) + np.bincount(
        left + 1, position - left, count
    )
    kernel = np.exp(-0.5 * (np.arange(-16, 17) / 4) ** 2)
    density = np.convolve(weights, kernel / (kernel.sum() * step), "same") / n
    return start + step * np.arange(count), density, width


def _valleys(
    grid: Array, density: Array, width: float, n: int, gap: float
) -> list[int]:
    """Grid indices of the valleys that stand up to scrutiny; the most doubtful one is given up first."""
    inside = density[1:-1]
    valleys = (
        np.flatnonzero((inside < density[:-2]) & (inside <= density[2:])) + 1
    ).tolist()
    mass = np.cumsum(density) / density.sum()
    # depth in standard errors times share; calibrated on one mode, normal to Pareto, and on 80/20 mixtures
    scale = math.sqrt(2 * n * width * 2 * math.sqrt(math.pi)) / 0.2
    doubtful = max(40 / n, min(n / 250, 3.0))
    while valleys:
        shares = np.diff([0.0, *mass[valleys], 1.0])
        peaks = [
            a + int(density[a:b].argmax())
            for a, b in pairwise([0, *valleys, len(grid)])
        ]
        lower = np.minimum(density[peaks[:-1]], density[peaks[1:]])
        depth = (
            (np.sqrt(lower) - np.sqrt(density[valleys]))
            * np.minimum(shares[1:], shares[:-1])
            * scale
        )
        real = (
            (depth >= doubtful)
            & (density[valleys] <= SHALLOWEST * lower)
            & (np.diff(grid[peaks]) >= gap)
        )
        small = int(shares.argmin())
        if shares[small] < SMALLEST_SHARE:
            beside = [i for i in (small - 1, small) if 0 <= i < len(valleys)]
            valleys.pop(max(beside, key=lambda i: density[valleys[i]]))
        elif not real.all():
            valleys.pop(int(np.where(real, np.inf, depth).argmin()))
        else:
            break
    return valleys
