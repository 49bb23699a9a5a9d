"""Pearson's chi-square tests, and the probability of several tests together."""

from collections.abc import Sequence

import numpy as np

# in a cell: with less, the distribution is not that of chi-square
LEAST_EXPECTED = 5.0


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float | None:
    """The probability of counts that deviate at least as much; cells with few expected counts are merged.

    None if fewer than two cells are left; 0 if something was counted that is impossible.
    """
    is_impossible = expected == 0
    if counts[is_impossible].sum():
        return 0.0
    is_small = expected < LEAST_EXPECTED
    if is_small.any():
        counts = _merged(counts, is_small)
        expected = _merged(expected, is_small)
        if expected[-1] < LEAST_EXPECTED:
            counts = counts[:-1]
            expected = expected[:-1]
    if len(counts) < 2:
        return None
    return _tail(counts, expected, len(counts) - 1)


def _merged(cells: np.ndarray, is_small: np.ndarray) -> np.ndarray:
    """The large cells, and the sum of the small ones as the last."""
    small_sum = cells[is_small].sum()
    return np.append(cells[~is_small], small_sum)


def _tail(counts: np.ndarray, expected: np.ndarray, freedom: int) -> float:
    """The probability of a chi-square statistic of at least that of these counts."""
    from scipy import stats

    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, freedom))


def independence(table: np.ndarray) -> float | None:
    """The probability of a table of counts that is at least as far from independent rows and columns.

    None if there are too few counts, or all are in one row or column.
    """
    if table.sum() < LEAST_EXPECTED * table.size:
        return None
    used_rows = table.sum(axis=1) > 0
    used_columns = table.sum(axis=0) > 0
    table = table[used_rows][:, used_columns]
    if min(table.shape) < 2:
        return None
    row_sums = table.sum(axis=1)
    column_sums = table.sum(axis=0)
    expected = np.outer(row_sums, column_sums) / table.sum()
    if expected.min() < LEAST_EXPECTED:
        return None
    rows, columns = table.shape
    freedom = (rows - 1) * (columns - 1)
    return _tail(table, expected, freedom)


def smallest_of(probabilities: Sequence[float | None]) -> float | None:
    """One probability for several tests, by Bonferroni; None if there is no test."""
    present = [probability for probability in probabilities if probability is not None]
    if not present:
        return None
    return min(1.0, min(present) * len(present))
