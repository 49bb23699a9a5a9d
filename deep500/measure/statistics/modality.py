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
# A valley must lie below this share of the lower of its two peaks, and the lower, the fewer values there are.
SHALLOWEST = 0.9
DEEPER = 1.5  # divided by sqrt(n): a flat density has valleys by chance


@dataclass(frozen=True)
class DensityMode:
    """A place that values gather around (their median there) and the share of the values that do."""

    at: float
    share: float


def modes(
    samples: ArrayLike, smallest_gap: float = 0.02, deeper: float = DEEPER
) -> tuple[DensityMode, ...]:
    """The modes from left to right, at least smallest_gap apart: relatively, if all values are positive.

    `deeper` is 0 in procedure 1, which took chance valleys of flat densities for real.
    """
    x = np.sort(as_series(samples))
    if len(x) < FEWEST or x[0] == x[-1]:
        return (DensityMode(float(np.median(x)), 1.0),)
    y = _untied(x)
    if x[0] > 0:
        log_gap = math.log1p(smallest_gap)
        log_cuts = _cuts(np.log(y), len(x), log_gap, deeper)
        cuts = np.exp(log_cuts)
    else:
        cuts = np.array(_cuts(y, len(x), smallest_gap, deeper))
    parts = np.split(x, np.searchsorted(y, cuts))
    return tuple(_mode(part, len(x)) for part in parts)


def _mode(part: Array, n: int) -> DensityMode:
    median = float(np.median(part))
    return DensityMode(median, len(part) / n)


def _cuts(y: Array, n: int, gap: float, deeper: float) -> list[float]:
    """The values between the modes, where the density has its valleys."""
    grid, density, width = _density(y)
    shallowest = SHALLOWEST - deeper / math.sqrt(n)
    valleys = _valleys(grid, density, width, n, gap, shallowest)
    return [float(grid[valley]) for valley in valleys]


def _untied(ordered: Array) -> Array:
    """Tied values spread over one step of the clock, so that its ticks are not taken for modes."""
    values, counts = np.unique(ordered, return_counts=True)
    gaps = np.diff(values)
    gap_after = np.append(gaps, np.inf)
    gap_before = np.concatenate(([np.inf], gaps))
    nearest = np.minimum(gap_after, gap_before)
    step = np.quantile(np.repeat(nearest, counts), 0.1)
    first_of_tie = np.repeat(np.cumsum(counts) - counts, counts)
    place = np.arange(len(ordered)) - first_of_tie
    share = (place + 0.5) / np.repeat(counts, counts)
    spread = ordered + step * (share - 0.5)
    if ordered[0] > 0:
        return np.sort(np.maximum(spread, ordered / 2))
    return spread


def _density(y: Array) -> tuple[Array, Array, float]:
    """A Gaussian kernel estimate over all but the outermost values: grid, density, bandwidth."""
    n = len(y)
    quantiles = [0.01, 0.25, 0.75, 0.99]
    low, first, third, high = np.quantile(y, quantiles)
    spread = y.std()
    if third > first:
        spread = min(spread, (third - first) / 1.34)
    narrowest = (high - low) / 20_000
    width = max(1.1 * spread * n**-0.2, narrowest)
    step = width / 4
    start = low - 3 * width
    length = high - low + 6 * width
    count = int(length / step) + 2
    position = (y - start) / step
    is_on_grid = (position >= 0) & (position < count - 1)
    position = position[is_on_grid]
    cell = position.astype(int)
    fraction = position - cell
    to_start = np.bincount(cell, 1 - fraction, count)
    to_end = np.bincount(cell + 1, fraction, count)
    distance = np.arange(-16, 17) / 4
    kernel = np.exp(-0.5 * distance**2)
    kernel = kernel / (kernel.sum() * step)
    density = np.convolve(to_start + to_end, kernel, "same") / n
    grid = start + step * np.arange(count)
    return grid, density, width


def _valleys(
    grid: Array,
    density: Array,
    width: float,
    n: int,
    gap: float,
    shallowest: float,
) -> list[int]:
    """Grid indices of the significant valleys; the most doubtful one is given up first."""
    inside = density[1:-1]
    falls_before = inside < density[:-2]
    rises_after = inside <= density[2:]
    lowest = np.flatnonzero(falls_before & rises_after)
    valleys: list[int] = (lowest + 1).tolist()
    mass = np.cumsum(density) / density.sum()
    # depth in standard errors times share; calibrated on one mode, normal to Pareto, and on 80/20 mixtures
    root_pi = math.sqrt(math.pi)
    scale = math.sqrt(2 * n * width * 2 * root_pi) / 0.2
    doubtful = max(40 / n, min(n / 250, 3.0))
    while valleys:
        shares = np.diff([0.0, *mass[valleys], 1.0])
        smaller_share = np.minimum(shares[1:], shares[:-1])
        peaks = _peaks(density, valleys)
        floor = density[valleys]
        heights = density[peaks]
        lower_peak = np.minimum(heights[:-1], heights[1:])
        drop = np.sqrt(lower_peak) - np.sqrt(floor)
        depth = drop * smaller_share * scale
        is_significant = depth >= doubtful
        is_deep = is_significant & (floor <= shallowest * lower_peak)
        is_apart = np.diff(grid[peaks]) >= gap
        is_real = is_deep & is_apart
        smallest = int(shares.argmin())
        if shares[smallest] < SMALLEST_SHARE:
            valleys.pop(_shallower_side(density, valleys, smallest))
        elif not is_real.all():
            most_doubtful = np.where(is_real, np.inf, depth).argmin()
            valleys.pop(int(most_doubtful))
        else:
            break
    return valleys


def _peaks(density: Array, valleys: list[int]) -> list[int]:
    """The grid index of the highest density between any two neighbouring valleys."""
    peaks = []
    for start, end in pairwise([0, *valleys, len(density)]):
        highest = int(density[start:end].argmax())
        peaks.append(start + highest)
    return peaks


def _shallower_side(density: Array, valleys: list[int], mode: int) -> int:
    """The position of the valley, of the two beside a mode, where the density is higher."""
    count = len(valleys)
    beside = [i for i in (mode - 1, mode) if 0 <= i < count]
    return max(beside, key=lambda i: density[valleys[i]])
