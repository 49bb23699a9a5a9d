"""Whether two groups of runs arrive equally soon, where some end before they do: the log-rank test (Mantel, 1966)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import Deep500Error, TooFewSamples
from .distributions import chi_square_survival

FEWEST_ARRIVALS = (
    5  # of both groups together; the chi-square approximation is rough below
)


@dataclass(frozen=True)
class LogRank:
    """The test's z (above 0: the first group arrives sooner) with its two-sided p.

    `expected` are the arrivals that the first group would have if both were alike.
    """

    z: float
    p: float
    n: tuple[int, int]
    arrived: tuple[int, int]
    expected: float
    notes: tuple[str, ...] = ()


def log_rank(
    times_a: Sequence[float],
    arrived_a: Sequence[bool],
    times_b: Sequence[float],
    arrived_b: Sequence[bool],
) -> LogRank:
    """Compare two censored samples; a run that is known never to arrive has an infinite time and did not arrive."""
    groups = []
    for name, times, arrived in (
        ("a", times_a, arrived_a),
        ("b", times_b, arrived_b),
    ):
        groups.append(_group(name, times, arrived))
    (a, at_a), (b, at_b) = groups
    moments = np.unique(np.concatenate([a[at_a], b[at_b]]))
    observed = expected = variance = 0.0
    for moment in moments:
        risk_a = int((a >= moment).sum())
        risk = risk_a + int((b >= moment).sum())
        events_a = int((a[at_a] == moment).sum())
        events = events_a + int((b[at_b] == moment).sum())
        share = risk_a / risk
        observed += events_a
        expected += events * share
        if risk > 1:
            ties = (risk - events) / (risk - 1)
            variance += events * share * (1 - share) * ties
    if variance == 0:
        raise TooFewSamples(
            "no arrival of one group is seen while the other could still arrive: nothing can be compared"
        )
    z = (observed - expected) / math.sqrt(variance)
    total = int(at_a.sum()) + int(at_b.sum())
    notes = []
    if total < FEWEST_ARRIVALS:
        notes.append(
            f"p is rough: {total} arrivals (the approximation wants {FEWEST_ARRIVALS})"
        )
    return LogRank(
        z=z,
        p=chi_square_survival(z * z, 1),
        n=(a.size, b.size),
        arrived=(int(at_a.sum()), int(at_b.sum())),
        expected=expected,
        notes=tuple(notes),
    )


def _group(
    name: str, times: Sequence[float], arrived: Sequence[bool]
) -> tuple[np.ndarray, np.ndarray]:
    """The times and which of them are arrivals."""
    moments = np.asarray(times, float)
    arrivals = np.asarray(arrived, bool)
    if moments.ndim != 1 or moments.shape != arrivals.shape or not moments.size:
        raise Deep500Error(
            f"group {name}: give a list of times, and as many words about their arrival"
        )
    if np.isnan(moments).any() or (moments < 0).any():
        raise Deep500Error(f"group {name} has a time that is none: {times!r:.100}")
    if np.isinf(moments[arrivals]).any():
        raise Deep500Error(f"group {name} has a run that arrives at an infinite time")
    return moments, arrivals
