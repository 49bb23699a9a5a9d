"""Is it reproduced, is it replicated, is it interpretable? Pure functions of the plan and the blocks."""

from collections.abc import Sequence

from ...contracts.metric_summary import MetricSummary
from ...errors import TooFewSamples
from ...measure.statistics.equivalence import equivalence
from ...reports.text import counted
from ..outcomes.equivalent import paired_values, quality_margin
from ..outcomes.metric_text import metric_name
from .blocks import (
    Blocks,
    ReproductionPlan,
    SecondRun,
    SeedComparison,
    second_run,
    seed_blocks,
)
from .numbers import (
    NO,
    NOT_JUDGED,
    UNDECIDED,
    YES,
    Interpretable,
    Replicated,
    ReproductionNumbers,
    SameBits,
    StatementAgain,
    TimeAgain,
)
from .time_answers import lost_value, time_answer

CLAIMS = {"holds": YES, "fails": NO}
EQUIVALENCES = {"equivalent": YES, "different": NO}
TIMED = ("cost", "rate")


def reproduction_numbers(plan: ReproductionPlan, blocks: Blocks) -> ReproductionNumbers:
    """The three answers, and every time."""
    again = second_run(blocks)
    times = _times(plan, again) if again else []
    return ReproductionNumbers(
        reproduced(seed_blocks(blocks), again),
        replicated(plan, seed_blocks(blocks), again, times),
        interpretable(plan),
        times,
    )


def reproduced(seeds: Sequence[SeedComparison], again: SecondRun | None) -> SameBits:
    """Whether every seed gave the same losses and the same weights, to the last bit."""
    total = len(seeds)
    same = sum(seed.same_bits for seed in seeds)
    if not seeds:
        verdict = UNDECIDED
        text = "no seed was trained again"
    elif same == total:
        verdict = YES
        whole = "the only seed" if total == 1 else f"all {total} seeds"
        text = f"{whole} gave the same losses and weights to the last bit"
    else:
        verdict = NO
        difference = _first_difference(seeds)
        text = f"{same} of {counted(total, 'seed')} gave the same bits; {difference}"
        if again and again.same_setup:
            text += ", although machine, versions and settings are the same"
    return SameBits(verdict, text, total, same)


def _first_difference(seeds: Sequence[SeedComparison]) -> str:
    """Where the first seed with other losses departs from the original, or which one has other weights alone."""
    for seed in seeds:
        if not seed.same_losses:
            return (
                f"the loss of seed {seed.seed} differs from step {seed.first_step} on, by "
                f"{seed.largest or 0.0:.2g} relative at most"
            )
    for seed in seeds:
        if not seed.same_weights:
            return f"the weights of seed {seed.seed} differ, and its losses do not"
    return ""


def replicated(
    plan: ReproductionPlan,
    seeds: Sequence[SeedComparison],
    again: SecondRun | None,
    times: Sequence[TimeAgain],
) -> Replicated:
    """Whether what was claimed holds again, and whether the qualities are equivalent."""
    if again is None:
        return Replicated(UNDECIDED, "the run was not finished", [])
    rows = [
        *_claim_rows(plan, again),
        *_target_rows(plan, again),
        *_quality_rows(plan, again),
        *_epoch_rows(seeds),
        *_time_rows(times),
    ]
    failed = [row.what for row in rows if row.verdict == NO]
    undecided = [row.what for row in rows if row.verdict == UNDECIDED]
    judged = [row for row in rows if row.verdict != NOT_JUDGED]
    if failed:
        verdict = NO
        text = f"not again: {', '.join(failed)}"
    elif not judged:
        verdict = UNDECIDED
        text = "nothing can be compared"
    elif undecided:
        verdict = UNDECIDED
        text = f"not decided: {', '.join(undecided)}"
    else:
        verdict = YES
        text = f"{len(judged)} of {counted(len(judged), 'statement')} hold again"
    return Replicated(verdict, text, rows)


def _claim_rows(plan: ReproductionPlan, second: SecondRun) -> list[StatementAgain]:
    """Every claim of the original, with its verdict in the second run."""
    same_machine = second.same_machine
    pairs = zip(plan.original.claims, second.claims, strict=True)
    rows = []
    for before, again in pairs:
        is_timed = bool(set(before.kinds) & {*TIMED})
        is_absolute_time = is_timed and before.name != "Faster"
        was_shown = before.verdict == "holds"
        if not was_shown or (is_absolute_time and not same_machine):
            verdict = NOT_JUDGED
        else:
            verdict = CLAIMS.get(again.verdict, UNDECIDED)
        row = StatementAgain(before.claim, before.reason, again.reason, verdict)
        rows.append(row)
    return rows


def _target_rows(plan: ReproductionPlan, second: SecondRun) -> list[StatementAgain]:
    """Every target that was met: is it met again?"""
    same_machine = second.same_machine
    rows = []
    for before, again in _metric_pairs(plan, second):
        if before.target is None or not before.acceptable:
            continue
        target = f"{before.target:g} {before.unit}"
        statement = f"target of {metric_name(before)}: {target}".rstrip()
        if before.kind in TIMED and not same_machine:
            verdict = NOT_JUDGED
        elif again.acceptable:
            verdict = YES
        else:
            verdict = NO
        row = StatementAgain(statement, _median(before), _median(again), verdict)
        rows.append(row)
    return rows


def _quality_rows(plan: ReproductionPlan, second: SecondRun) -> list[StatementAgain]:
    """Every quality: is it equivalent to that of the original?"""
    rows = []
    for before, again in _metric_pairs(plan, second):
        if before.kind != "quality":
            continue
        verdict = _equivalent(plan, second, before, again)
        margin = quality_margin(before, plan.margin)
        room = f"{margin:.3g} {before.unit}"
        statement = f"{metric_name(before)} within {room}".rstrip()
        rows.append(StatementAgain(statement, _median(before), _median(again), verdict))
    return rows


def _epoch_rows(seeds: Sequence[SeedComparison]) -> list[StatementAgain]:
    """Whether the same bits also gave the same evaluations after every epoch; other bits give others."""
    compared = [seed for seed in seeds if seed.same_epochs is not None]
    if not compared:
        return []
    verdict = YES
    text = "the same in every epoch"
    for seed in compared:
        if seed.same_epochs:
            continue
        text = f"seed {seed.seed} differs from epoch {seed.first_epoch} on"
        if seed.same_bits:
            verdict = NO
            text += ", and its losses and weights do not"
            break
        verdict = NOT_JUDGED
    return [StatementAgain("evaluation of every epoch", "as recorded", text, verdict)]


def _time_rows(times: Sequence[TimeAgain]) -> list[StatementAgain]:
    """The times that differ by more than the load explains, or seem to, and those that do not come out at all."""
    rows = []
    for time in times:
        if time.verdict not in (NO, UNDECIDED):
            continue
        again = time.reason
        if time.ratio is not None:
            again = f"{ratio_text(time)}; {again}"
        rows.append(StatementAgain(time.metric, "as recorded", again, time.verdict))
    return rows


def ratio_text(time: TimeAgain) -> str:
    """The ratio of a time, with its interval if there is one."""
    text = f"again / original = {time.ratio:.3g}"
    if time.low is None:
        return text
    return f"{text} [{time.low:.3g}, {time.high:.3g}]"


def _equivalent(
    plan: ReproductionPlan,
    second: SecondRun,
    before: MetricSummary,
    again: MetricSummary,
) -> str:
    if lost_value(before, again):
        return NO
    seeds_before = plan.original.seeds
    seeds_again = second.seeds
    pairs = paired_values(before, again, seeds_before, seeds_again)
    differences = [y - x for x, y in pairs]
    complete = pairs and len(pairs) == len(seeds_before)
    if complete and all(x == y for x, y in pairs):
        return YES  # the same numbers need no statistics
    margin = quality_margin(before, plan.margin)
    try:
        tested = equivalence(differences, margin, 1 - plan.level)
    except TooFewSamples:
        return UNDECIDED
    return EQUIVALENCES.get(tested.verdict, UNDECIDED)


def _times(plan: ReproductionPlan, second: SecondRun) -> list[TimeAgain]:
    """The ratio again / original of every cost and rate; None where the machines are not alike."""
    rows = []
    for before, again in _metric_pairs(plan, second):
        if before.kind in TIMED:
            row = time_answer(plan.original, second, before, again, plan.level)
            rows.append(row)
    return rows


def interpretable(plan: ReproductionPlan) -> Interpretable:
    """How many of the items that a reader needs are documented."""
    items = plan.original.documentation
    missing = [item.item for item in items if not item.present]
    present = len(items) - len(missing)
    text = f"{present} of {len(items)} items are documented"
    if missing:
        text += f"; missing: {', '.join(missing)}"
    if not items:
        return Interpretable(NO, text, 0.0)
    return Interpretable(NO if missing else YES, text, present / len(items))


def _metric_pairs(
    plan: ReproductionPlan, second: SecondRun
) -> list[tuple[MetricSummary, MetricSummary]]:
    """The metrics that both runs have, the original's first."""
    metrics_again = {metric_name(metric): metric for metric in second.metrics}
    pairs = []
    for before in plan.original.metrics:
        again = metrics_again.get(metric_name(before))
        if again is not None:
            pairs.append((before, again))
    return pairs


def _median(metric: MetricSummary) -> str:
    if metric.median is None:
        return "not reached"
    value = f"{metric.median:.6g}"
    if metric.low is not None:
        value += f" [{metric.low:.6g}, {metric.high:.6g}]"
    with_unit = f"{value} {metric.unit}".rstrip()
    return f"{with_unit}, n = {metric.n}"
