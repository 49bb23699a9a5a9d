"""Pearson's chi-square tests, and what several of them say together."""

from collections.abc import Sequence

import numpy as np

LEAST_EXPECTED = 5.0  # in a cell: with less, the distribution is not that of chi-square


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float | None:
    """The probability of counts that deviate at least as much; cells with few expected counts are put together.

    None if fewer than two cells are left; 0 if something was counted that is impossible.
    """
    from scipy import stats

    if counts[expected == 0].sum():
        return 0.0
    small = expected < LEAST_EXPECTED
    if small.any():
        counts = np.append(counts[~small], counts[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
        if expected[-1] < LEAST_EXPECTED:
            counts, expected = counts[:-1], expected[:-1]
    if len(counts) < 2:
        return None
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, len(counts) - 1))


def independence(table: np.ndarray) -> float | None:
    """The probability of a table of counts that is at least as far from independent rows and columns.

    None if there are too few counts, or all are in one row or column.
    """
    from scipy import stats

    if table.sum() < LEAST_EXPECTED * table.size:
        return None
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return None
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    if expected.min() < LEAST_EXPECTED:
        return None
    statistic = ((table - expected) ** 2 / expected).sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return float(stats.chi2.sf(statistic, freedom))


def smallest_of(probabilities: Sequence[float | None]) -> float | None:
    """One probability for several tests, by Bonferroni; None if there is no test."""
    present = [probability for probability in probabilities if probability is not None]
    if not present:
        return None
    return min(1.0, min(present) * len(present))
