"""Many comparisons at once: Holm's step-down for families of verdicts, Kruskal & Wallis' test for groups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import Deep500Error, TooFewSamples
from .comparison import (
    Comparison,
    Samples,
    compare,
    processes_of,
)
from .dependence import (
    SHORT,
    autocorrelation,
    dependence,
    initial_monotone,
    normal_scores,
    without_bias,
)
from .distributions import chi_square_survival

Look = Callable[[float], Comparison]  # what a comparison says at a level


@dataclass(frozen=True)
class GroupTest:
    """Kruskal & Wallis' H, corrected for ties and dependence, with its chi-square p; `n` values were ranked."""

    h: float
    df: int
    p: float
    n: int
    notes: tuple[str, ...] = ()


def compare_family(
    pairs: Sequence[tuple[Samples, Samples]],
    margin: float = 0.02,
    level: float = 0.95,
    paired: bool = False,
) -> list[Comparison | TooFewSamples]:
    """Compare every pair (a, b) so that the chance of any wrong verdict among them stays below 1 - level."""

    def look_at(a: Samples, b: Samples) -> Look:
        return lambda at: compare(a, b, margin, at, paired)

    return holm([look_at(a, b) for a, b in pairs], level)


def holm(
    looks: Sequence[Look], level: float = 0.95
) -> list[Comparison | TooFewSamples]:
    """Settle a family of comparisons, each a function of the level, by Holm's step-down.

    With r members open, each is looked at with level 1 - (1 - level) / r; those that get a verdict are
    settled, the rest go on with the smaller r until a pass settles none: Holm's procedure without p-values.
    A member with too few samples for the stricter level stays open: it comes back inconclusive, with its
    interval at the plain level, or as the error where even that is refused.
    """
    if not 0 < level < 1:
        raise Deep500Error(
            f"the level is {level!r}: give a number between 0 and 1, such as 0.95"
        )
    settled: dict[int, Comparison | TooFewSamples] = {}
    while len(settled) < len(looks):
        still_open = [i for i in range(len(looks)) if i not in settled]
        stricter = 1 - (1 - level) / len(still_open)
        seen = {i: _try(looks[i], stricter, level) for i in still_open}
        decided = {
            i: c
            for i, c in seen.items()
            if isinstance(c, Comparison) and c.verdict != "inconclusive"
        }
        settled |= decided or seen
    return [_noted(settled[i], len(looks)) for i in range(len(looks))]


def _try(look: Look, stricter: float, level: float) -> Comparison | TooFewSamples:
    try:
        return look(stricter)
    except TooFewSamples as reason:
        why = f"no verdict, too few samples for the family's level {stricter:.4g}: {reason}"
    try:
        found = look(level)
    except TooFewSamples as reason:
        return reason
    return replace(found, verdict="inconclusive", notes=(*found.notes, why))


def _noted(found: Comparison | TooFewSamples, size: int) -> Comparison | TooFewSamples:
    if isinstance(found, TooFewSamples) or size == 1:
        return found
    note = f"one of a family of {size} (Holm), its interval at level {found.level:.4g}"
    return replace(found, notes=(*found.notes, note))


def kruskal_wallis(groups: Sequence[Samples]) -> GroupTest:
    """Test whether all groups have one distribution; several processes enter by their process medians.

    A small p says that some group tends to larger values, and speaks of medians only if all have one shape.
    Values of one process each may depend on each other in time: H is divided by what that adds to its mean.
    """
    processes = [processes_of(group, f"group {k}") for k, group in enumerate(groups, 1)]
    if len(processes) < 2:
        raise Deep500Error(
            f"a test between groups was asked for {len(processes)} of them: give two or more"
        )
    if len({len(series) > 1 for series in processes}) > 1:
        raise Deep500Error(
            "some groups have several processes and some have one: give all the same kind"
        )
    values = [_units(series) for series in processes]
    ranks, untied = _ranks(np.concatenate(values))
    n, df = ranks.size, len(values) - 1
    own = np.split(ranks, np.cumsum([v.size for v in values])[:-1])
    spread = sum(r.size * (r.mean() - (n + 1) / 2) ** 2 for r in own)
    tau = (
        1.0
        if len(processes[0]) > 1
        else sum(_tau(v) * (1 - v.size / n) for v in values) / df
    )
    h = float(12 * spread / (n * (n + 1) * untied)) / tau if untied else 0.0
    notes = tuple(_notes(len(processes[0]), min(v.size for v in values), tau))
    return GroupTest(h, df, chi_square_survival(h, df), n, notes)


def _units(series: list[np.ndarray]) -> np.ndarray:
    """What counts as independent: the values of one process, or the medians of several."""
    return series[0] if len(series) == 1 else np.array([np.median(x) for x in series])


def _ranks(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Average ranks, and the share of their variance that ties leave (none if all values are equal)."""
    _, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[position]
    n = float(values.size)
    return ranks, 1 - float((counts**3.0 - counts).sum()) / (n**3 - n)


def _tau(values: np.ndarray) -> float:
    """How many values count as one for the mean of their ranks (as good as that of their normal scores)."""
    n = values.size
    if n < SHORT or dependence(values).tau == 1:
        return 1.0
    rho = autocorrelation(normal_scores(values), min(n - 2, max(10, int(10 * n**0.5))))
    return max(1.0, initial_monotone(without_bias(rho, n))[0])


def _notes(processes: int, smallest: int, tau: float) -> Iterator[str]:
    yield "speaks of medians only if all groups have one shape"
    yield (
        "on process medians"
        if processes > 1
        else "one process each: between-process variance unknown"
    )
    if tau > 1:
        yield f"H divided by {tau:.3g}: the values depend on each other in time"
    if smallest < 5:
        yield f"p is rough: the smallest group has {smallest} (the chi-square approximation wants 5)"
