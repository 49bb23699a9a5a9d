"""Whether the means of several groups are equal, whatever their variances: Welch's analysis of variance (1951)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import Deep500Error, TooFewSamples
from .dependence import as_series
from .distributions import f_survival

NORMAL = "assumes independent values, normal in each group: `kruskal_wallis` assumes no distribution"


@dataclass(frozen=True)
class WelchAnova:
    """Welch's F with its degrees of freedom and p; `n` values in all groups."""

    f: float
    df_between: float
    df_within: float
    p: float
    n: int
    notes: tuple[str, ...] = (NORMAL,)


def welch_anova(groups: Sequence[ArrayLike]) -> WelchAnova:
    """Test whether all groups have one mean; every group needs two values that differ."""
    series = [as_series(group) for group in groups]
    if len(series) < 2:
        raise Deep500Error(
            f"a test between groups was asked for {len(series)} of them: give two or more"
        )
    for number, values in enumerate(series, 1):
        if values.size < 2 or values.min() == values.max():
            raise TooFewSamples(
                f"group {number} has no variance: give two values that differ, or more"
            )
    sizes = np.array([values.size for values in series])
    means = np.array([values.mean() for values in series])
    weights = sizes / np.array([values.var(ddof=1) for values in series])
    shares = weights / weights.sum()
    count = len(series)
    between = (weights * (means - shares @ means) ** 2).sum() / (count - 1)
    imbalance = ((1 - shares) ** 2 / (sizes - 1)).sum()
    correction = 1 + 2 * (count - 2) / (count**2 - 1) * imbalance
    f = float(between / correction)
    df_within = float((count**2 - 1) / (3 * imbalance))
    p = f_survival(f, count - 1, df_within)
    return WelchAnova(f, float(count - 1), df_within, p, int(sizes.sum()))
