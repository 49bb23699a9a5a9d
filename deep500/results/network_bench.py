"""A benchmark of a network: latency, throughput, memory beside its prediction, and where the time goes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..contracts.result import Blocks, Contrast, Plan, Record
from ..contracts.shapes import check_object
from ..errors import Deep500Error
from ..measure.samples import check_blocks
from ..reports.blocks import Report
from .bench import Bench, report_data
from .networks.breakdowns import breakdowns
from .networks.report import network_report

OPERATOR = {"node": str, "operator": str, "kernel": str, "direction": str, "ns": list}
KEY = "breakdown"  # what a block of operators' times has and others have not


class NetworkBench(Bench):
    """Blocks of times as of any benchmark, and blocks of the times of single operators."""

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        names = {entry["name"] for entry in plan["entries"]}
        checked: list[dict[str, Any]] = []
        for block in blocks:
            if isinstance(block, dict) and KEY in block:
                _check_breakdown(block, names)
                checked.append(block)
            else:
                checked += check_blocks(plan, [block])
        check_blocks(plan, _timed(checked))  # also together
        return checked

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        derived = super().derive(plan, _timed(blocks))
        if derived is None:
            return None
        own = [block for block in blocks if KEY in block]
        return derived | {"breakdowns": breakdowns(own, plan["level"])}

    def report(self, record: Record) -> Report:
        return network_report(report_data(record))

    def compare(self, a: Record, b: Record, margin: float, level: float) -> Contrast:
        first, second = (
            replace(record, blocks=_timed(record.blocks)) for record in (a, b)
        )
        return super().compare(first, second, margin, level)


def _timed(blocks: Blocks) -> list[Any]:
    return [block for block in blocks if KEY not in block]


def _check_breakdown(block: Any, names: set[str]) -> None:
    if block[KEY] not in names:
        raise Deep500Error(
            "samples.jsonl: a breakdown is of an entry that was not planned"
        )
    if isinstance(block.get("unsupported"), str):
        return
    what = "samples.jsonl: a breakdown"
    check_object(
        what, block, {KEY: str, "process": int, "network": list, "operators": [dict]}
    )
    rounds = len(block["network"])
    for times in (block["network"], *(_operator(what, o) for o in block["operators"])):
        if len(times) != rounds or not all(
            type(t) is int and 0 < t < 1 << 62 for t in times
        ):
            raise Deep500Error(f"{what} has times that are not one per round")


def _operator(what: str, row: Any) -> list[int]:
    return check_object(what, row, OPERATOR)["ns"]
