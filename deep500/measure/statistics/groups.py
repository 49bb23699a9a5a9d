"""Many comparisons at once: Holm's step-down for families of verdicts, Kruskal & Wallis' test for groups."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

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
T = TypeVar("T")


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

    def comparison_at(a: Samples, b: Samples) -> Look:
        return lambda stricter: compare(a, b, margin, stricter, paired)

    looks = [comparison_at(a, b) for a, b in pairs]
    return holm(looks, level)


def holm(
    looks: Sequence[Look], level: float = 0.95
) -> list[Comparison | TooFewSamples]:
    """Settle a family of comparisons, each a function of the level, by Holm's step-down.

    With r members open, each is looked at with level 1 - (1 - level) / r; those that get a verdict are
    settled, the others go on with the smaller r until a pass settles none: Holm's procedure without p-values.
    A member with too few samples for the stricter level stays open: it comes back inconclusive, with its
    interval at the plain level, or as the error where even that is refused.
    """
    count = len(looks)

    def look_at(i: int, stricter: float) -> Comparison | TooFewSamples:
        return _try(looks[i], stricter, level)

    settled = step_down(count, look_at, _has_verdict, level)
    return [_with_family_note(outcome, count) for outcome in settled]


def step_down(
    count: int,
    look_at: Callable[[int, float], T],
    is_decided: Callable[[T], bool],
    level: float,
) -> list[T]:
    """Holm's step-down for any kind of look: `look_at(i, level)` is what member i says at a level."""
    if not 0 < level < 1:
        raise Deep500Error(
            f"the level is {level!r}: give a number between 0 and 1, such as 0.95"
        )
    settled: dict[int, T] = {}
    while len(settled) < count:
        still_open = [i for i in range(count) if i not in settled]
        stricter = 1 - (1 - level) / len(still_open)
        seen = {i: look_at(i, stricter) for i in still_open}
        decided = {i: outcome for i, outcome in seen.items() if is_decided(outcome)}
        settled |= decided or seen
    return [settled[i] for i in range(count)]


def _has_verdict(outcome: Comparison | TooFewSamples) -> bool:
    return isinstance(outcome, Comparison) and outcome.verdict != "inconclusive"


def _try(look: Look, stricter: float, level: float) -> Comparison | TooFewSamples:
    try:
        return look(stricter)
    except TooFewSamples as reason:
        why = f"no verdict, too few samples for the family's level {stricter:.4g}: {reason}"
    try:
        comparison = look(level)
    except TooFewSamples as reason:
        return reason
    notes = (*comparison.notes, why)
    return replace(comparison, verdict="inconclusive", notes=notes)


def _with_family_note(
    outcome: Comparison | TooFewSamples, size: int
) -> Comparison | TooFewSamples:
    if isinstance(outcome, TooFewSamples) or size == 1:
        return outcome
    level = f"{outcome.level:.4g}"
    note = f"one of a family of {size} (Holm), its interval at level {level}"
    return replace(outcome, notes=(*outcome.notes, note))


def kruskal_wallis(groups: Sequence[Samples]) -> GroupTest:
    """Test whether all groups have one distribution; several processes enter by their process medians.

    A small p says that some group tends to larger values, and speaks of medians only if all have one shape.
    Values of one process each may depend on each other in time: H is divided by what that adds to its mean.
    """
    processes = []
    for number, group in enumerate(groups, 1):
        processes.append(processes_of(group, f"group {number}"))
    _check_groups(processes)
    values = [_units(series) for series in processes]
    sizes = [group.size for group in values]
    ranks, untied = _ranks(np.concatenate(values))
    n = ranks.size
    df = len(values) - 1
    spread = 0.0
    for group_ranks in np.split(ranks, np.cumsum(sizes)[:-1]):
        deviation = group_ranks.mean() - (n + 1) / 2
        spread += group_ranks.size * deviation**2
    tau = 1.0
    if len(processes[0]) == 1:
        weighted = [_tau(group) * (1 - group.size / n) for group in values]
        tau = sum(weighted) / df
    h = 0.0
    if untied:
        ranks_variance = n * (n + 1) * untied
        h = float(12 * spread / ranks_variance) / tau
    notes = _notes(len(processes[0]), min(sizes), tau)
    p = chi_square_survival(h, df)
    return GroupTest(h=h, df=df, p=p, n=n, notes=tuple(notes))


def _check_groups(processes: list[list[np.ndarray]]) -> None:
    if len(processes) < 2:
        raise Deep500Error(
            f"a test between groups was asked for {len(processes)} of them: give two or more"
        )
    has_several = {len(series) > 1 for series in processes}
    if len(has_several) > 1:
        raise Deep500Error(
            "some groups have several processes and some have one: give all the same kind"
        )


def _units(series: list[np.ndarray]) -> np.ndarray:
    """What counts as independent: the values of one process, or the medians of several."""
    if len(series) == 1:
        return series[0]
    return np.array([np.median(values) for values in series])


def _ranks(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Average ranks, and the share of their variance that ties leave (none if all values are equal)."""
    _, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    distinct_ranks = np.cumsum(counts) - (counts - 1) / 2
    ranks = distinct_ranks[position]
    n = float(values.size)
    tied = float((counts**3.0 - counts).sum())
    return ranks, 1 - tied / (n**3 - n)


def _tau(values: np.ndarray) -> float:
    """How many values count as one for the mean of their ranks (as good as that of their normal scores)."""
    n = values.size
    if n < SHORT or dependence(values).tau == 1:
        return 1.0
    lags = min(n - 2, max(10, int(10 * n**0.5)))
    rho = autocorrelation(normal_scores(values), lags)
    tau, _ = initial_monotone(without_bias(rho, n))
    return max(1.0, tau)


def _notes(processes: int, smallest: int, tau: float) -> Iterator[str]:
    yield "speaks of medians only if all groups have one shape"
    if processes > 1:
        yield "on process medians"
    else:
        yield "one process each: between-process variance unknown"
    if tau > 1:
        yield f"H divided by {tau:.3g}: the values depend on each other in time"
    if smallest < 5:
        yield f"p is rough: the smallest group has {smallest} (the chi-square approximation wants 5)"
