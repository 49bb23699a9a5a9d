"""Is it reproduced, is it replicated, is it interpretable? Pure functions of the plan and the blocks."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import TooFewSamples
from ...measure.statistics.equivalence import equivalence
from ..outcomes.contents import metric_name
from ..outcomes.equivalent import paired_values, quality_margin

Answer = dict[str, Any]  # "verdict" (yes, no, not decided), "text" and details
Plan = Mapping[str, Any]
Blocks = Sequence[Mapping[str, Any]]
YES, NO, UNDECIDED = "yes", "no", "not decided"
TIMED = ("cost", "rate")


def seed_blocks(blocks: Blocks) -> list[Mapping[str, Any]]:
    return [block for block in blocks if "seed" in block]


def summary_block(blocks: Blocks) -> Mapping[str, Any] | None:
    """The last block, which has the metrics, the claims and the environment; None if the run was ended before."""
    for block in blocks:
        if "metrics" in block:
            return block
    return None


def reproduced(plan: Plan, blocks: Blocks) -> Answer:
    """Whether every seed gave the same losses and the same weights, to the last bit."""
    seeds = seed_blocks(blocks)
    if not seeds:
        return {
            "verdict": UNDECIDED,
            "text": "no seed was trained again",
            "seeds": 0,
            "same": 0,
        }
    same = [block for block in seeds if block["same_losses"] and block["same_weights"]]
    counts = {"seeds": len(seeds), "same": len(same)}
    if len(same) == len(seeds):
        text = (
            f"all {len(seeds)} seeds gave the same losses and weights to the last bit"
        )
        return {"verdict": YES, "text": text, **counts}
    text = f"{len(same)} of {len(seeds)} seeds gave the same bits; {_first_difference(seeds)}"
    return {"verdict": NO, "text": text, **counts}


def _first_difference(seeds: Blocks) -> str:
    for block in seeds:
        if not block["same_losses"]:
            return (
                f"the loss of seed {block['seed']} differs from step {block['first_step']} on, by "
                f"{block['largest']:.2g} relative at most"
            )
    odd = [block["seed"] for block in seeds if not block["same_weights"]]
    return f"the weights of seed {odd[0]} differ, and its losses do not" if odd else ""


def replicated(plan: Plan, blocks: Blocks) -> Answer:
    """Whether what was claimed holds again, and whether the qualities are equivalent."""
    summary = summary_block(blocks)
    if summary is None:
        return {"verdict": UNDECIDED, "text": "the run was not finished", "rows": []}
    alike = summary["same_machine"]
    rows = [*_claim_rows(plan, summary, alike), *_target_rows(plan, summary, alike)]
    rows += _quality_rows(plan, summary)
    judged = [row["verdict"] for row in rows if row["verdict"] != "not judged"]
    if NO in judged:
        failed = [row["what"] for row in rows if row["verdict"] == NO]
        return {"verdict": NO, "text": f"not again: {', '.join(failed)}", "rows": rows}
    if not judged:
        return {"verdict": UNDECIDED, "text": "nothing can be compared", "rows": rows}
    open_rows = [row["what"] for row in rows if row["verdict"] == UNDECIDED]
    if open_rows:
        text = f"not decided: {', '.join(open_rows)}"
        return {"verdict": UNDECIDED, "text": text, "rows": rows}
    text = f"{len(judged)} of {len(judged)} statements hold again"
    return {"verdict": YES, "text": text, "rows": rows}


def _row(what: str, before: str, again: str, verdict: str) -> dict[str, str]:
    return {"what": what, "original": before, "again": again, "verdict": verdict}


def _claim_rows(
    plan: Plan, summary: Mapping[str, Any], alike: bool
) -> list[dict[str, str]]:
    rows = []
    for before, again in zip(
        plan["original"]["claims"], summary["claims"], strict=True
    ):
        what, texts = before["claim"], (before["reason"], again["reason"])
        absolute_time = before["name"] != "Faster" and set(before["kinds"]) & {*TIMED}
        if before["verdict"] != "holds":
            verdict = "not judged"  # it was never shown to hold
        elif absolute_time and not alike:
            verdict = "not judged"
        else:
            verdict = {"holds": YES, "fails": NO}.get(again["verdict"], UNDECIDED)
        rows.append(_row(what, *texts, verdict))
    return rows


def _target_rows(
    plan: Plan, summary: Mapping[str, Any], alike: bool
) -> list[dict[str, str]]:
    """Every target that was met: is it met again?"""
    rows = []
    for before, again in _metric_pairs(plan, summary):
        if before["target"] is None or not before["acceptable"]:
            continue
        what = f"target of {metric_name(before)}: {before['target']:g} {before['unit']}".rstrip()
        if before["kind"] in TIMED and not alike:
            verdict = "not judged"
        else:
            verdict = YES if again["acceptable"] else NO
        rows.append(_row(what, _median(before), _median(again), verdict))
    return rows


def _quality_rows(plan: Plan, summary: Mapping[str, Any]) -> list[dict[str, str]]:
    rows = []
    for before, again in _metric_pairs(plan, summary):
        if before["kind"] == "quality":
            verdict = _equivalent(plan, summary, before, again)
            margin = quality_margin(before, plan["margin"])
            what = (
                f"{metric_name(before)} within {margin:.3g} {before['unit']}".rstrip()
            )
            rows.append(_row(what, _median(before), _median(again), verdict))
    return rows


def _equivalent(
    plan: Plan,
    summary: Mapping[str, Any],
    before: Mapping[str, Any],
    again: Mapping[str, Any],
) -> str:
    seeds_before, seeds_again = plan["original"]["seeds"], summary["seeds"]
    pairs = paired_values(before, again, seeds_before, seeds_again)
    if pairs and all(x == y for x, y in pairs) and len(pairs) == len(seeds_before):
        return YES  # the same numbers need no statistics
    try:
        margin = quality_margin(before, plan["margin"])
        tested = equivalence([y - x for x, y in pairs], margin, 1 - plan["level"])
    except TooFewSamples:
        return UNDECIDED
    return {"equivalent": YES, "different": NO}.get(tested.verdict, UNDECIDED)


def times(plan: Plan, blocks: Blocks) -> list[dict[str, Any]]:
    """The ratio again / original of every cost and rate; None where the machines are not alike."""
    summary = summary_block(blocks)
    rows = []
    for before, again in _metric_pairs(plan, summary) if summary else ():
        if before["kind"] not in TIMED:
            continue
        ratio, reason = None, "the machines are not alike"
        if summary and summary["same_machine"]:
            ratio, reason = (
                _ratio(before["median"], again["median"]),
                "a run has no value",
            )
        row = {"metric": metric_name(before), "ratio": ratio}
        rows.append(row if ratio is not None else row | {"reason": reason})
    return rows


def _ratio(before: float | None, again: float | None) -> float | None:
    if not before or not again:
        return None
    ratio = again / before
    return ratio if math.isfinite(ratio) else None


def interpretable(plan: Plan) -> Answer:
    """How many of the items that a reader needs are documented."""
    items = plan["original"]["documentation"]
    present = [item for item in items if item["present"]]
    missing = [item["item"] for item in items if not item["present"]]
    text = f"{len(present)} of {len(items)} items are documented"
    if missing:
        text += f"; missing: {', '.join(missing)}"
    score = len(present) / len(items) if items else 0.0
    verdict = YES if items and not missing else NO
    return {"verdict": verdict, "text": text, "score": score}


def _metric_pairs(
    plan: Plan, summary: Mapping[str, Any]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    again = {metric_name(metric): metric for metric in summary["metrics"]}
    pairs = []
    for metric in plan["original"]["metrics"]:
        if metric_name(metric) in again:
            pairs.append((metric, again[metric_name(metric)]))
    return pairs


def _median(metric: Mapping[str, Any]) -> str:
    if metric["median"] is None:
        return "not reached"
    value = f"{metric['median']:.6g}"
    if metric["low"] is None:
        return f"{value} {metric['unit']}, n = {metric['n']}"
    ends = f"[{metric['low']:.6g}, {metric['high']:.6g}]"
    return f"{value} {ends} {metric['unit']}, n = {metric['n']}"
