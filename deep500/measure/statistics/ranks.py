"""Exact tests by ranks of two small samples, with ties: values may be infinite, for runs that never arrived."""

import math
from collections.abc import Sequence

import numpy as np

from .distributions import normal_cdf

MOST_EXACT = 100  # of each sample; beyond, the sum of ranks is as good as normal
FEWEST_PAIRS = 5  # all signs of five agree by chance in 6 %, of four in 12 %


def rank_sum_tail(a: Sequence[float], b: Sequence[float]) -> float:
    """The chance that B has as high ranks among all values as it has, if A and B are the same (Wilcoxon)."""
    doubled = _doubled_ranks([*a, *b])
    observed = int(doubled[len(a) :].sum())
    if max(len(a), len(b)) > MOST_EXACT:
        return _normal_tail(doubled, len(b), observed)
    # ways[k, s]: in how many ways k of the ranks add up to s
    ways = np.zeros((len(b) + 1, int(doubled.sum()) + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank]
    of_b = ways[-1]
    return float(of_b[observed:].sum() / of_b.sum())


def sign_flip_tail(a: Sequence[float], b: Sequence[float]) -> float:
    """The chance that the differences of ranks in pairs, B minus A, add up to as much, if their signs are chance."""
    doubled = _doubled_ranks([*a, *b])
    differences = doubled[len(a) :] - doubled[: len(a)]
    sizes = np.abs(differences)
    if len(a) > MOST_EXACT:
        spread = math.sqrt(float((sizes.astype(float) ** 2).sum())) or 1.0
        return float(normal_cdf(-differences.sum() / spread))
    # a sum of signed sizes is twice the sum of the positive ones, minus that of all
    observed = int(sizes[differences > 0].sum())
    shares = np.zeros(int(sizes.sum()) + 1)
    shares[0] = 1.0
    for size in sizes:
        flipped = np.zeros_like(shares)
        flipped[size:] = shares[: len(shares) - size]
        shares = (shares + flipped) / 2
    return float(shares[observed:].sum())


def few_pairs_tail(a: Sequence[float], b: Sequence[float]) -> float:
    """`rank_sum_tail` for pairs too few to flip signs; 1 unless there are five and B is higher in every one.

    It takes both sides of a pair as independent: pairs that go together make it careful, and those that oppose each
    other can be wrong no more often than all signs agree by chance, which is too often for four.
    """
    agree = all(y > x for x, y in zip(a, b, strict=True))
    if len(a) < FEWEST_PAIRS or not agree:
        return 1.0
    return rank_sum_tail(a, b)


def _doubled_ranks(values: Sequence[float]) -> np.ndarray:
    """Twice the average ranks, which are whole numbers."""
    _, position, counts = np.unique(
        np.array(values, float), return_inverse=True, return_counts=True
    )
    doubled = 2 * np.cumsum(counts) - counts + 1
    return doubled[position].astype(int)


def _normal_tail(doubled: np.ndarray, chosen: int, observed: int) -> float:
    count = len(doubled)
    mean = chosen * doubled.mean()
    variance = chosen * (count - chosen) / count * doubled.var(ddof=1)
    if variance == 0:
        return 1.0
    return float(normal_cdf((mean - observed + 1) / math.sqrt(variance)))
