"""Verdicts that are not given, whatever the interval of their ratio says, because they would mean something else.

Intervals are widened first where their assumptions do not hold.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..reports.tables import percent, seconds
from .aftermath import SHARE
from .neighbours import NeighbourEffect
from .statistics.assumptions import Widening
from .statistics.comparison import Comparison, verdict_of
from .statistics.estimands import PAIRED, RatioEstimate
from .statistics.intervals import Interval
from .statistics.modality import DensityMode

Modes = tuple[DensityMode, ...]


def widened_interval(found: Interval, wider: Widening) -> Interval:
    """The interval of a cost, wider by a factor on the scale of logarithms."""
    if wider.factor == 1 or found.low <= 0:
        return found
    low = found.estimate * (found.low / found.estimate) ** wider.factor
    high = found.estimate * (found.high / found.estimate) ** wider.factor
    notes = (*found.notes, wider.reason)
    return replace(found, low=low, high=high, notes=notes)


def widened_comparison(c: Comparison, wider: Widening) -> Comparison:
    """The comparison by a wider interval of its ratio."""
    if wider.factor == 1:
        return c
    low = c.ratio * (c.low / c.ratio) ** wider.factor
    high = c.ratio * (c.high / c.ratio) ** wider.factor
    verdict = verdict_of(low, high, c.margin)
    if c.verdict == "inconclusive":
        verdict = c.verdict
    notes = (*c.notes, wider.reason)
    return replace(c, low=low, high=high, verdict=verdict, notes=notes)


def withheld(c: Comparison, reason: str) -> Comparison:
    """The comparison without its verdict."""
    notes = (*c.notes, f"no verdict: {reason}")
    return replace(c, verdict="inconclusive", notes=notes, withheld=True)


def without_deferred_work(
    c: Comparison, after: Mapping[str, float | None]
) -> Comparison:
    """No verdict beside a candidate whose work goes on while the next one is timed."""
    for name, share in after.items():
        if share is not None and share > SHARE:
            return withheld(c, deferred(name, share))
    return c


def deferred(name: str, share: float) -> str:
    """What is said of a candidate that works on after its clock has stopped."""
    times = f"{share:.3g} times the CPU time that was timed"
    return (
        f"{name!r} goes on after its clock has stopped, in other threads or processes ({times}): "
        "its time is not that of its work, and the work slows the others down"
    )


def without_disagreement(
    c: Comparison,
    medians: RatioEstimate,
    means: RatioEstimate,
    modes: Callable[[], Mapping[str, Modes]],
) -> Comparison:
    """No verdict if medians or means have another one."""
    if c.verdict == "inconclusive":
        return c
    others = {medians.verdict(c.margin), means.verdict(c.margin)}
    agree = others <= {c.verdict, "inconclusive"}
    if agree and not _is_opposite(medians.ratio, c):
        return c
    ratios = (
        f"the {PAIRED} is {c.ratio:.4g}, that of medians {medians.ratio:.4g}, "
        f"that of means {means.ratio:.4g}, on different sides of the margin"
    )
    return withheld(c, f"{ratios}; {_costs(modes())}")


def _is_opposite(ratio: float, c: Comparison) -> bool:
    """Whether a ratio, known without an interval, says slower where the verdict says faster, or the reverse."""
    if c.verdict == "slower":
        return ratio < 1 / (1 + c.margin)
    return c.verdict == "faster" and ratio > 1 + c.margin


def _costs(modes: Mapping[str, Modes]) -> str:
    """The modes of the candidates that have several."""
    parts = []
    for name, several in modes.items():
        if len(several) == 1:
            continue
        places = []
        for mode in several:
            share = percent(mode.share, 2)
            places.append(f"{seconds(mode.at)} ({share})")
        listing = " and ".join(places)
        parts.append(f"{name!r} has {len(several)} modes, {listing}")
    if not parts:
        return "few calls cost much more than the others"
    return "; ".join(parts)


def without_neighbours(
    c: Comparison,
    base: NeighbourEffect | None,
    other: NeighbourEffect | None,
) -> Comparison:
    """No verdict that would be another one if both candidates ran as they do alone."""
    factor = 1.0
    for effect, power in ((base, 1), (other, -1)):
        if effect is not None and effect.exceeds(c.margin):
            factor *= effect.ratio**power
    alone = verdict_of(c.low * factor, c.high * factor, c.margin)
    if c.verdict == "inconclusive" or alone == c.verdict:
        return c
    return withheld(
        c,
        f"alone, without the others between its calls, the ratio would be {c.ratio * factor:.4g}",
    )
