"""From samples to every number that is reported: a pure function, so that `d5 verify` can do it again."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Refused, TooFewSamples
from .aftermath import SHARE
from .agreement import disagreement
from .device_conditions import slowdown_notes
from .interference import COULD_EXPLAIN
from .numbers import (
    BenchNumbers,
    ControlNumbers,
    DeviceTime,
    EntryComparison,
    EntryNumbers,
    LevelledRatio,
    Rates,
    RatioAtQuantile,
    RatioMeaning,
    TimeAtQuantile,
    WarmupNumbers,
)
from .plan import PROCEDURE as PROCEDURE
from .rates import Times, rates
from .statistics.comparison import Comparison, more_needed, quantile_differences
from .statistics.drift import Drift, drift
from .statistics.estimands import LEVEL as ESTIMANDS_LEVEL
from .statistics.estimands import PAIRED, RatioEstimate
from .statistics.intervals import ONE_PROCESS, Interval
from .statistics.modality import DensityMode
from .withholding import deferred

if TYPE_CHECKING:
    from .results import Result


def derive(result: "Result") -> BenchNumbers:
    """All derived numbers of a run."""
    settled = result.settled
    more = None if settled else _more(result)
    comparisons = [_comparison(result, a, b, c) for a, b, c in result.comparisons]
    return BenchNumbers(
        procedure=PROCEDURE,
        stopped="precise" if settled else "budget",
        more=more,
        status=_status(result, settled, more),
        entries=[_entry(result, name) for name in result.names],
        comparisons=comparisons,
        control=_control(result),
        notes=_notes(result),
        measured_s=_measured_seconds(result),
        interference=result.interference,
    )


def _measured_seconds(result: "Result") -> float | None:
    first = result.blocks[0].span_s
    last = result.blocks[-1].span_s
    if not first or not last:
        return None
    return round(last[1] - first[0], 4)


def _entry(result: "Result", name: str) -> EntryNumbers:
    index = result.index(name)
    planned = result.plan.entries[index]
    series = [process.seconds[index] for process in result.processes]
    pooled = np.concatenate(series)
    states = [process.states[index] for process in result.processes]
    kinds = Counter(state.kind for state in states)
    usual_kind = kinds.most_common(1)[0][0]
    cut = sum(process.cut for process in result.processes)
    middle, notes = _median(result, name)
    times: Times = (float(np.median(pooled)), None, None)
    if middle:
        times = (middle.estimate, middle.low, middle.high)
    median, low, high = times
    notes += _circumstance_notes(result, name)
    unsteady = kinds["none"]
    if unsteady:
        where = ""
        if len(states) > 1:
            where = f" in {unsteady} of {len(states)} processes"
        notes.append(f"never steady{where}: the times change throughout")
    first = result.blocks[0]
    log_rounds = [np.log(process.rounds[index]) for process in result.processes]
    return EntryNumbers(
        name=name,
        levels=planned.levels,
        n=len(pooled),
        processes=len(series),
        median=median,
        low=low,
        high=high,
        level=result.plan.level,
        method=middle.method if middle else "none",
        unit="s",
        batch=result.batch(name),
        warmup=WarmupNumbers(usual_kind, cut),
        modes=_modes(result, name),
        quantiles=[_quantile(result, name, q) for q in (0.9, 0.99)],
        notes=notes,
        untimed=first.untimed[index] if first.untimed else None,
        after=result.after[name],
        neighbours=result.neighbours[name],
        drift=_drift(result, log_rounds),
        device=_device_time(result, name),
        rates=_rates(result, planned.work, times),
    )


def _device_time(result: "Result", name: str) -> DeviceTime | None:
    try:
        found = result.device_interval(name)
    except Refused:
        return None
    if found is None:
        return None
    return DeviceTime(found.estimate, found.low, found.high)


def _rates(
    result: "Result", work: Mapping[str, Any] | None, times: Times
) -> Rates | None:
    if work is None:
        return None
    return rates(times, work, result.plan.about.peaks_for(work))


def _circumstance_notes(result: "Result", name: str) -> list[str]:
    notes = []
    share = result.after[name]
    if share is not None and share > SHARE:
        notes.append(deferred(name, share))
    effect = result.neighbours[name]
    margin = result.plan.margin
    if effect and effect.exceeds(margin):
        notes.append(
            f"beside the other candidates it takes {effect.ratio:.4g} × [{effect.low:.4g}, {effect.high:.4g}] "
            f"of its time in a row of its own calls (n = {effect.n}), which is more than the margin"
        )
    return notes


def _modes(result: "Result", name: str) -> Sequence[DensityMode] | None:
    """The modes, or None if there is only one."""
    several = result.modes(name)
    if len(several) == 1:
        return None
    return several


def _median(result: "Result", name: str) -> tuple[Interval | None, list[str]]:
    """The median with its interval and notes, or none and the reason as a note."""
    try:
        middle = result.interval(name)
    except Refused as refusal:
        return None, [str(refusal)]
    return middle, list(middle.notes)


def _quantile(result: "Result", name: str, q: float) -> TimeAtQuantile:
    try:
        interval = result.interval(name, q)
    except Refused as refusal:
        return TimeAtQuantile(q, refused=str(refusal))
    return TimeAtQuantile(q, interval.estimate, interval.low, interval.high)


def _comparison(
    result: "Result", a: str, b: str, c: Comparison | TooFewSamples
) -> EntryComparison:
    if isinstance(c, TooFewSamples):
        return EntryComparison(
            base=a,
            other=b,
            ratio=None,
            low=None,
            high=None,
            level=result.plan.level,
            margin=result.plan.margin,
            verdict="inconclusive",
            n=0,
            quantiles=[],
            notes=[str(c)],
        )
    return EntryComparison(
        base=a,
        other=b,
        ratio=c.ratio,
        low=c.low,
        high=c.high,
        level=result.plan.level,
        margin=c.margin,
        verdict=c.verdict,
        n=c.n,
        processes=c.processes,
        method=c.method,
        shift=c.effect.shift,
        probability=c.effect.probability,
        quantiles=_quantile_ratios(result, a, b),
        notes=c.notes,
        meaning=_meaning(result, a, b, c),
        drift=_drift(result, _log_ratios(result, a, b)),
    )


def _meaning(result: "Result", a: str, b: str, c: Comparison) -> RatioMeaning:
    medians, means = result.estimates(a, b)
    estimand = f"{PAIRED} of {_values(result, a, b)}"
    return RatioMeaning(estimand, _levelled(medians), _levelled(means), c.withheld)


def _values(result: "Result", a: str, b: str) -> str:
    """What one value of either side is."""
    batches = [result.batch(a), result.batch(b)]
    if batches == [1, 1]:
        return "single calls"
    if batches[0] == batches[1]:
        return f"means of {batches[0]} calls"
    described = []
    for batch in reversed(batches):
        described.append(f"means of {batch}" if batch > 1 else "single")
    return f"{described[0]} calls to {described[1]} calls"


def _levelled(estimate: RatioEstimate) -> LevelledRatio:
    return LevelledRatio(estimate.ratio, estimate.low, estimate.high, ESTIMANDS_LEVEL)


def _quantile_ratios(result: "Result", a: str, b: str) -> list[RatioAtQuantile]:
    """The ratio b / a quantile by quantile; none where calls were timed in batches."""
    if result.batch(a) > 1 or result.batch(b) > 1:
        return []
    differences = quantile_differences(
        result.samples(a), result.samples(b), level=result.looked_level
    )
    return [RatioAtQuantile(**vars(difference)) for difference in differences]


def _log_ratios(result: "Result", a: str, b: str) -> list[np.ndarray]:
    i = result.index(a)
    j = result.index(b)
    ratios = []
    for process in result.processes:
        base = np.log(process.rounds[i])
        other = np.log(process.rounds[j])
        ratios.append(other - base)
    return ratios


def _drift(result: "Result", logs: list[np.ndarray]) -> Drift | None:
    """The change over the run, where the blocks say when they were measured and there are enough of them."""
    if not all(block.span_s for block in result.blocks):
        return None
    return drift(logs, result.plan.level, dependent=True)


def _control(result: "Result") -> ControlNumbers | None:
    for a, b in result.pairs:
        if not result.is_control(b):
            continue
        try:
            c = result.compare(a, b)
        except TooFewSamples:
            return None
        return ControlNumbers(a, c.ratio, c.low, c.high, c.verdict, c.n)
    return None


def _notes(result: "Result") -> list[str]:
    notes = []
    if len(result.processes) == 1 and not result.each_call_is_a_process:
        notes.append(ONE_PROCESS)
    clocks_differ = disagreement(result.blocks, result.bare, result.one_group)
    if clocks_differ:
        notes.append(clocks_differ)
    control = _control(result)
    if control and control.verdict in ("slower", "faster"):
        notes.append(
            f"the control differs from itself ({control.verdict}): do not trust verdicts of this run"
        )
    return notes + slowdown_notes(result.blocks)


def _more(result: "Result") -> int | None:
    """About how many more samples would settle everything; None where that cannot be said."""
    precision = result.plan.precision
    needed = []
    try:
        if not result.comparisons:
            for name in result.names:
                needed.append(more_needed(result.interval(name), precision))
        for _, _, c in result.comparisons:
            if isinstance(c, TooFewSamples):
                return None
            # a verdict needs an interval clear of the margin
            log_ratio = abs(math.log(c.ratio))
            to_margin = abs(log_ratio - math.log1p(c.margin))
            narrow = min(precision, math.expm1(to_margin))
            needed.append(more_needed(c, max(1e-3, narrow)))
    except Refused:
        return None
    return max(needed)


def _status(result: "Result", settled: bool, more: int | None) -> str:
    percent = 100 * result.plan.precision
    precision = f"±{percent:.3g} %"
    some_withheld = any(_is_withheld(c) for _, _, c in result.comparisons)
    if settled and some_withheld:
        return f"every ratio is known within {precision}; the notes say why some have no verdict"
    if settled:
        subject = "ratio has a verdict and" if result.comparisons else "median"
        return f"every {subject} is known within {precision}"
    if _withdrawn(result) and result.interference:
        percent = 100 * result.interference.others
        used = f"others used {percent:.0f} % of the CPUs"
        return f"inconclusive, because {used}: wait, or give --wait-for-quiet SECONDS"
    if some_withheld:
        return "no verdict where the notes give a reason, which more samples would not remove"
    unit = "processes" if len(result.processes) > 1 else "samples"
    all_have_verdicts = all(_has_verdict(c) for _, _, c in result.comparisons)
    if result.comparisons and all_have_verdicts:
        return f"every ratio has a verdict; about {more} more {unit} would narrow all of them to {precision}"
    if more:
        return f"inconclusive, about {more} more {unit} needed"
    return f"inconclusive, too few {unit} to say how many"


def _has_verdict(c: Comparison | TooFewSamples) -> bool:
    return isinstance(c, Comparison) and c.verdict != "inconclusive"


def _is_withheld(c: Comparison | TooFewSamples) -> bool:
    return isinstance(c, Comparison) and c.withheld


def _withdrawn(result: "Result") -> bool:
    """Whether a verdict was withdrawn because of what others used."""
    for _, _, c in result.comparisons:
        notes = c.notes if isinstance(c, Comparison) else ()
        if any(COULD_EXPLAIN in note for note in notes):
            return True
    return False
