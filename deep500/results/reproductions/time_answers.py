"""Does every time come out again? The ratio again / original with its interval, and what the load can explain of it."""

import math
from collections.abc import Sequence
from dataclasses import replace

from ...contracts.metric_summary import MetricSummary
from ...measure.sensing.others import BUSY
from ...measure.statistics.intervals import smallest_sample
from ...reports.text import counted
from ..outcomes.conditions import Conditions
from ..outcomes.metric_contrast import (
    compare_metric,
    matched,
    verdict_by_ranks,
)
from ..outcomes.metric_text import is_unavailable, metric_name
from .blocks import OriginalRun, SecondRun
from .numbers import NO, NOT_JUDGED, UNDECIDED, YES, TimeAgain

# by what a comparison says of the second run
VERDICTS = {
    "same": YES,
    "better": NO,
    "worse": NO,
    "different": NO,
    "inconclusive": NOT_JUDGED,
}
# Of a time on the same quiet machine; it differs by a tenth from minute to minute.
MARGIN = 0.25
# Threads of others also slow down those that run beside them: shared cores, caches and memory.
SHARED = 2.0


def time_answer(
    original: OriginalRun,
    second: SecondRun,
    before: MetricSummary,
    again: MetricSummary,
    level: float,
) -> TimeAgain:
    """The ratio of one time or rate with its interval, the verdict and its reason."""
    answer = TimeAgain(metric_name(before))
    lost = lost_value(before, again)
    if lost:
        return replace(answer, verdict=NO, reason=lost)
    if not before.median or not again.median:
        return replace(answer, reason="a run has no value")
    if not second.same_machine:
        return replace(answer, reason="the machines are not alike")
    runs = [original.conditions, second.conditions]
    limit = (1 + MARGIN) * explained(runs)
    answer = replace(answer, reason=_reason(runs, limit))
    if math.isinf(limit):
        return answer
    seeds = original.seeds, second.seeds
    found = compare_metric(before, again, *seeds, limit - 1, level)
    if found.n < smallest_sample(0.5, level) or found.value is None:
        answer = replace(answer, ratio=again.median / before.median)
        return _by_ranks(answer, before, again, seeds, limit, level)
    verdict = VERDICTS[found.verdict]
    if verdict == YES and limit > 1 + MARGIN:
        verdict = NOT_JUDGED
    return replace(
        answer, ratio=found.value, low=found.low, high=found.high, verdict=verdict
    )


def _by_ranks(
    answer: TimeAgain,
    before: MetricSummary,
    again: MetricSummary,
    seeds: tuple[Sequence[int], Sequence[int]],
    limit: float,
    level: float,
) -> TimeAgain:
    """The verdict of few seeds, or of some without a value; too few seeds decide nothing."""
    sides = matched(before, again, *seeds)
    verdict, _ = verdict_by_ranks(before, sides, math.log(limit), level)
    if verdict != "inconclusive":
        return replace(answer, verdict=NO)
    if answer.ratio is not None and 1 / limit <= answer.ratio <= limit:
        return answer
    count = min(len(sides.a), len(sides.b))
    reason = f"{answer.reason}, and the ranks of {counted(count, 'seed')} do not decide"
    return replace(answer, verdict=UNDECIDED, reason=reason)


def lost_value(before: MetricSummary, again: MetricSummary) -> str:
    """Why a repetition without a value contradicts an original with one; empty if it does not."""
    if before.median is None or again.median is not None:
        return ""
    if is_unavailable(again):
        return ""
    return f"the original has {before.median:.6g} {before.unit}, and here there is none".rstrip()


def explained(runs: Sequence[Conditions | None]) -> float:
    """The largest ratio that waiting for a CPU can explain; 1 if nobody else used the machine."""
    factor = 1.0
    for run in runs:
        if run is None:
            return math.inf
        if run.others is not None and run.others <= BUSY:
            continue
        if run.threads != 1 or run.stretch is None:
            return math.inf
        factor *= SHARED * max(1.0, run.stretch)
    return factor


def _reason(runs: Sequence[Conditions | None], limit: float) -> str:
    shares = []
    for name, run in zip(("the original", "this run"), runs, strict=True):
        if run is None or run.others is None:
            shares.append(f"the load of {name} is not known")
        else:
            shares.append(f"others used {run.others:.0%} of the CPUs during {name}")
    allowed = "any factor" if math.isinf(limit) else f"a factor of {limit:.3g}"
    return f"{', '.join(shares)}, which can explain {allowed}"
