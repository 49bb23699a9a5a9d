"""Is it reproduced, is it replicated, is it interpretable? Pure functions of the plan and the blocks."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import TooFewSamples
from ...measure.statistics.equivalence import equivalence
from ...reports.text import counted
from ..outcomes.equivalent import paired_values, quality_margin
from ..outcomes.metric_text import metric_name
from .time_answers import lost_value, time_answer

Answer = dict[str, Any]  # "verdict" (yes, no, not decided), "text" and details
Plan = Mapping[str, Any]
Block = Mapping[str, Any]
Blocks = Sequence[Block]
Metric = Mapping[str, Any]
Row = dict[str, str]  # one statement: "what", "original", "again" and "verdict"
YES, NO, UNDECIDED = "yes", "no", "not decided"
NOT_JUDGED = "not judged"
CLAIMS = {"holds": YES, "fails": NO}
EQUIVALENCES = {"equivalent": YES, "different": NO}
TIMED = ("cost", "rate")


def seed_blocks(blocks: Blocks) -> list[Block]:
    """The blocks that compare one seed with the original."""
    return [block for block in blocks if "seed" in block]


def summary_block(blocks: Blocks) -> Block | None:
    """The last block, which has the metrics, the claims and the environment; None if the run was ended before."""
    for block in blocks:
        if "metrics" in block:
            return block
    return None


def reproduced(plan: Plan, blocks: Blocks) -> Answer:
    """Whether every seed gave the same losses and the same weights, to the last bit."""
    seeds = seed_blocks(blocks)
    total = len(seeds)
    same = 0
    for block in seeds:
        if block["same_losses"] and block["same_weights"]:
            same += 1
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
        summary = summary_block(blocks)
        if summary and summary["same_setup"]:
            text += ", although machine, versions and settings are the same"
    return {"verdict": verdict, "text": text, "seeds": total, "same": same}


def _first_difference(seeds: Blocks) -> str:
    """Where the first seed with other losses departs from the original, or which one has other weights alone."""
    for block in seeds:
        if not block["same_losses"]:
            largest = f"{block['largest']:.2g}"
            return (
                f"the loss of seed {block['seed']} differs from step {block['first_step']} on, by "
                f"{largest} relative at most"
            )
    for block in seeds:
        if not block["same_weights"]:
            return f"the weights of seed {block['seed']} differ, and its losses do not"
    return ""


def replicated(plan: Plan, blocks: Blocks) -> Answer:
    """Whether what was claimed holds again, and whether the qualities are equivalent."""
    summary = summary_block(blocks)
    if summary is None:
        return {
            "verdict": UNDECIDED,
            "text": "the run was not finished",
            "rows": [],
        }
    rows = [
        *_claim_rows(plan, summary),
        *_target_rows(plan, summary),
        *_quality_rows(plan, summary),
        *_epoch_rows(blocks),
        *_time_rows(plan, blocks),
    ]
    failed = _statements(rows, NO)
    undecided = _statements(rows, UNDECIDED)
    judged = [row for row in rows if row["verdict"] != NOT_JUDGED]
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
    return {"verdict": verdict, "text": text, "rows": rows}


def _statements(rows: Sequence[Row], verdict: str) -> list[str]:
    return [row["what"] for row in rows if row["verdict"] == verdict]


def _row(statement: str, before: str, again: str, verdict: str) -> Row:
    return {
        "what": statement,
        "original": before,
        "again": again,
        "verdict": verdict,
    }


def _claim_rows(plan: Plan, summary: Block) -> list[Row]:
    """Every claim of the original, with its verdict in the second run."""
    same_machine = summary["same_machine"]
    pairs = zip(plan["original"]["claims"], summary["claims"], strict=True)
    rows = []
    for before, again in pairs:
        is_timed = bool(set(before["kinds"]) & {*TIMED})
        is_absolute_time = is_timed and before["name"] != "Faster"
        was_shown = before["verdict"] == "holds"
        if not was_shown or (is_absolute_time and not same_machine):
            verdict = NOT_JUDGED
        else:
            verdict = CLAIMS.get(again["verdict"], UNDECIDED)
        row = _row(before["claim"], before["reason"], again["reason"], verdict)
        rows.append(row)
    return rows


def _target_rows(plan: Plan, summary: Block) -> list[Row]:
    """Every target that was met: is it met again?"""
    same_machine = summary["same_machine"]
    rows = []
    for before, again in _metric_pairs(plan, summary):
        if before["target"] is None or not before["acceptable"]:
            continue
        target = f"{before['target']:g} {before['unit']}"
        statement = f"target of {metric_name(before)}: {target}".rstrip()
        if before["kind"] in TIMED and not same_machine:
            verdict = NOT_JUDGED
        elif again["acceptable"]:
            verdict = YES
        else:
            verdict = NO
        row = _row(statement, _median(before), _median(again), verdict)
        rows.append(row)
    return rows


def _quality_rows(plan: Plan, summary: Block) -> list[Row]:
    """Every quality: is it equivalent to that of the original?"""
    rows = []
    for before, again in _metric_pairs(plan, summary):
        if before["kind"] != "quality":
            continue
        verdict = _equivalent(plan, summary, before, again)
        margin = quality_margin(before, plan["margin"])
        room = f"{margin:.3g} {before['unit']}"
        statement = f"{metric_name(before)} within {room}".rstrip()
        rows.append(_row(statement, _median(before), _median(again), verdict))
    return rows


def _epoch_rows(blocks: Blocks) -> list[Row]:
    """Whether the same bits also gave the same evaluations after every epoch; other bits give others."""
    seeds = [block for block in seed_blocks(blocks) if "same_epochs" in block]
    if not seeds:
        return []
    verdict = YES
    text = "the same in every epoch"
    for block in seeds:
        same_bits = block["same_losses"] and block["same_weights"]
        if block["same_epochs"]:
            continue
        text = f"seed {block['seed']} differs from epoch {block['first_epoch']} on"
        if same_bits:
            verdict = NO
            text += ", and its losses and weights do not"
            break
        verdict = NOT_JUDGED
    return [_row("evaluation of every epoch", "as recorded", text, verdict)]


def _time_rows(plan: Plan, blocks: Blocks) -> list[Row]:
    """The times that differ by more than the load explains, or seem to, and those that do not come out at all."""
    rows = []
    for answer in times(plan, blocks):
        verdict = answer["verdict"]
        if verdict in (NO, UNDECIDED):
            again = answer["reason"]
            if answer["ratio"] is not None:
                again = f"{ratio_text(answer)}; {again}"
            rows.append(_row(answer["metric"], "as recorded", again, verdict))
    return rows


def ratio_text(answer: Mapping[str, Any]) -> str:
    """The ratio of a time, with its interval if there is one."""
    text = f"again / original = {answer['ratio']:.3g}"
    if answer["low"] is None:
        return text
    return f"{text} [{answer['low']:.3g}, {answer['high']:.3g}]"


def _equivalent(plan: Plan, summary: Block, before: Metric, again: Metric) -> str:
    if lost_value(before, again):
        return NO
    seeds_before = plan["original"]["seeds"]
    seeds_again = summary["seeds"]
    pairs = paired_values(before, again, seeds_before, seeds_again)
    differences = [y - x for x, y in pairs]
    complete = pairs and len(pairs) == len(seeds_before)
    if complete and all(x == y for x, y in pairs):
        return YES  # the same numbers need no statistics
    margin = quality_margin(before, plan["margin"])
    try:
        tested = equivalence(differences, margin, 1 - plan["level"])
    except TooFewSamples:
        return UNDECIDED
    return EQUIVALENCES.get(tested.verdict, UNDECIDED)


def times(plan: Plan, blocks: Blocks) -> list[dict[str, Any]]:
    """The ratio again / original of every cost and rate; None where the machines are not alike."""
    summary = summary_block(blocks)
    if not summary:
        return []
    rows = []
    for before, again in _metric_pairs(plan, summary):
        if before["kind"] not in TIMED:
            continue
        answer = time_answer(plan["original"], summary, before, again, plan["level"])
        rows.append({"metric": metric_name(before), **answer})
    return rows


def interpretable(plan: Plan) -> Answer:
    """How many of the items that a reader needs are documented."""
    items = plan["original"]["documentation"]
    missing = [item["item"] for item in items if not item["present"]]
    present = len(items) - len(missing)
    text = f"{present} of {len(items)} items are documented"
    if missing:
        text += f"; missing: {', '.join(missing)}"
    if not items:
        return {"verdict": NO, "text": text, "score": 0.0}
    verdict = NO if missing else YES
    return {"verdict": verdict, "text": text, "score": present / len(items)}


def _metric_pairs(plan: Plan, summary: Block) -> list[tuple[Metric, Metric]]:
    """The metrics that both runs have, the original's first."""
    metrics_again = {metric_name(metric): metric for metric in summary["metrics"]}
    pairs = []
    for before in plan["original"]["metrics"]:
        again = metrics_again.get(metric_name(before))
        if again is not None:
            pairs.append((before, again))
    return pairs


def _median(metric: Metric) -> str:
    if metric["median"] is None:
        return "not reached"
    value = f"{metric['median']:.6g}"
    if metric["low"] is not None:
        value += f" [{metric['low']:.6g}, {metric['high']:.6g}]"
    with_unit = f"{value} {metric['unit']}".rstrip()
    return f"{with_unit}, n = {metric['n']}"
