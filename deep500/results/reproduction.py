"""A reproduction of a recipe's run: trained again, and compared seed by seed with the original."""

from collections.abc import Sequence
from typing import Any

from ..contracts.result import Blocks, Plan, Record, ResultKind
from ..contracts.shapes import NUMBER, check_object
from ..errors import UNDECIDED, Deep500Error
from ..reports.blocks import Report
from ..training.resumption import is_change
from .reproductions.answers import (
    interpretable,
    replicated,
    reproduced,
    summary_block,
    times,
)
from .reproductions.reproduction_report import reproduction_report

OPTIONAL_NUMBER = (*NUMBER, type(None))
PLAN = {"original": dict, "margin": NUMBER, "level": NUMBER, "changes": list}
ORIGINAL = {
    "name": str,
    "hash": (str, type(None)),
    "recipe_hash": str,
    "seeds": [int],
    "metrics": [dict],
    "claims": [dict],
    "documentation": [dict],
}
METRIC = {
    "name": str,
    "settings": dict,
    "unit": str,
    "kind": str,
    "better": (str, type(None)),
    "values": [OPTIONAL_NUMBER],
    "n": int,
    "median": OPTIONAL_NUMBER,
    "low": OPTIONAL_NUMBER,
    "high": OPTIONAL_NUMBER,
    "target": OPTIONAL_NUMBER,
    "acceptable": bool,
}
CLAIM = {
    "claim": str,
    "name": str,
    "kinds": [str],
    "verdict": str,
    "reason": str,
}
ITEM = {"item": str, "present": bool, "text": str}
SEED = {
    "seed": int,
    "same_losses": bool,
    "same_weights": bool,
    "first_step": (int, type(None)),
    "largest": OPTIONAL_NUMBER,
}
EPOCHS = {"same_epochs": bool, "first_epoch": (int, type(None))}
CONDITIONS = {
    "others": OPTIONAL_NUMBER,
    "stretch": OPTIONAL_NUMBER,
    "threads": (int, str, type(None)),
}
SUMMARY = {
    "seeds": [int],
    "metrics": [dict],
    "claims": [dict],
    "environment": [dict],
    "same_machine": bool,
    "same_setup": bool,
    "unstable": [str],
    "bundle": str,
    "hash": str,
}


class Reproduction(ResultKind):
    """One block per seed, and one with what the second run came to."""

    procedure = 3

    def check_plan(self, plan: object) -> dict[str, Any]:
        checked = check_object("plan.json", plan, PLAN)
        original = check_object("plan.json: original", checked["original"], ORIGINAL)
        if not (0 < checked["margin"] and 0.5 < checked["level"] < 1):
            raise Deep500Error("plan.json: the margin or the level cannot be used")
        _check_results("plan.json", original)
        _check_conditions("plan.json", original)
        for item in original["documentation"]:
            check_object("plan.json: an item", item, ITEM)
        return checked

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        checked = []
        for number, block in enumerate(blocks):
            checked.append(_checked_block(number, block, plan))
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not blocks:
            return None
        return {
            "reproduced": reproduced(plan, blocks),
            "replicated": replicated(plan, blocks),
            "interpretable": interpretable(plan),
            "times": times(plan, blocks),
        }

    def report(self, record: Record) -> Report:
        if record.derived is None:
            raise Deep500Error(
                f"{record.bundle} holds nothing yet: no seed was trained again before it ended"
            )
        return reproduction_report(record)

    def accepted(self, record: Record) -> bool:
        return self.exit_code(record) == 0

    def exit_code(self, record: Record) -> int:
        """0 if it is replicated (the same bits are), 1 if it is not, 3 if that is not decided.

        It is not, either, if no seed gave the same bits on the same machine with the same software.
        """
        if not record.derived or not record.finished:
            return UNDECIDED
        replication = record.derived["replicated"]["verdict"]
        bits = record.derived["reproduced"]["verdict"]
        summary = summary_block(record.blocks)
        same_setup = summary is not None and summary["same_setup"]
        no_seed = bits == "no" and record.derived["reproduced"]["same"] == 0
        if replication == "no" or (no_seed and same_setup):
            return 1
        if replication == "yes":
            return 0
        undecided_times = any(
            row["verdict"] == "not decided" for row in record.derived["times"]
        )
        if bits == "yes" and not undecided_times:
            return 0
        return UNDECIDED


def _checked_block(number: int, block: object, plan: Plan) -> dict[str, Any]:
    """The block of a seed or the summary; raises a Deep500Error if it has another form."""
    where = f"samples.jsonl: block {number}"
    if isinstance(block, dict) and "seed" in block:
        return _checked_seed(where, block)
    summary = check_object(where, block, SUMMARY)
    _check_results(where, summary)
    _check_conditions(where, summary)
    if len(summary["claims"]) != len(plan["original"]["claims"]):
        raise Deep500Error(f"{where}: it has not as many claims as the original")
    for change in summary["environment"]:
        without_weight = {key: change[key] for key in change if key != "weight"}
        if not is_change(without_weight):
            raise Deep500Error(
                f"{where}: a difference of the environments has no usable form"
            )
        check_object(where, change, {"weight": str})
    return summary


def _checked_seed(where: str, block: object) -> dict[str, Any]:
    seed = check_object(where, block, SEED)
    if "same_epochs" in seed:
        check_object(where, seed, EPOCHS)
    has_place = seed["first_step"] is not None and seed["largest"] is not None
    if not seed["same_losses"] and not has_place:
        raise Deep500Error(f"{where}: losses differ, and it does not say where")
    return seed


def _check_conditions(where: str, results: dict[str, Any]) -> None:
    """The load during a run, if it is there."""
    if "conditions" in results:
        check_object(where, results["conditions"], CONDITIONS)


def _check_results(where: str, results: dict[str, Any]) -> None:
    """Metrics and claims as a recipe's run derives them."""
    for metric in results["metrics"]:
        check_object(f"{where}: a metric", metric, METRIC)
        if len(metric["values"]) != len(results["seeds"]):
            raise Deep500Error(f"{where}: a metric has not one value for each seed")
    for claim in results["claims"]:
        check_object(f"{where}: a claim", claim, CLAIM)
