"""A benchmark of a network: latency, throughput, memory beside its prediction, and where the time goes."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..bundle.dates import Dates
from ..contracts.result import Blocks, Contrast, Plan
from ..contracts.shapes import check_object
from ..errors import Deep500Error
from ..measure.samples import check_blocks
from ..reports.blocks import Report
from .bench import Bench, BenchRecord, Times, report_data
from .benching.contradictions import bench_contradictions, early_end
from .networks.breakdowns import NetworkNumbers, breakdowns
from .networks.network_bench_report import network_report

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier

OPERATOR = {
    "node": str,
    "operator": str,
    "kernel": str,
    "direction": str,
    "ns": list,
}
KEY = "breakdown"  # only blocks with the times of single operators have it
BREAKDOWN = {KEY: str, "process": int, "network": list, "operators": [dict]}
LARGEST_NS = 1 << 62


class NetworkBench(Bench):
    """Blocks of times as of any benchmark, and blocks of the times of single operators."""

    def check_blocks(self, plan: Plan, blocks: Sequence[object]) -> list[Times]:
        names = {entry["name"] for entry in plan["entries"]}
        checked: list[Times] = []
        for block in blocks:
            if isinstance(block, dict) and KEY in block:
                _check_breakdown(block, names)
                checked.append(block)
            else:
                checked += check_blocks(plan, [block])
        check_blocks(plan, _timed(checked))  # also together
        return checked

    def derive(self, plan: Plan, blocks: Sequence[Times]) -> NetworkNumbers | None:
        times = super().derive(plan, _timed(blocks))
        if times is None:
            return None
        of_operators = [block for block in blocks if KEY in block]
        taken_apart = breakdowns(of_operators, plan["level"])
        return NetworkNumbers(**vars(times), breakdowns=taken_apart)

    def report(self, record: BenchRecord) -> Report:
        return network_report(report_data(record))

    def contradictions(self, record: BenchRecord, dates: Dates) -> Iterable[str]:
        return bench_contradictions(record, _timed(record.blocks), dates)

    def remarks(self, record: BenchRecord, dates: Dates) -> Iterable[str]:
        return early_end(record, _timed(record.blocks))

    def dossier(self, record: BenchRecord) -> "Dossier":
        return super().dossier(replace(record, blocks=_timed(record.blocks)))

    def compare(
        self, a: BenchRecord, b: BenchRecord, margin: float, level: float
    ) -> Contrast:
        times_a = replace(a, blocks=_timed(a.blocks))
        times_b = replace(b, blocks=_timed(b.blocks))
        return super().compare(times_a, times_b, margin, level)


def _timed(blocks: Blocks) -> list[Any]:
    """The blocks with the times of whole networks."""
    return [block for block in blocks if KEY not in block]


def _check_breakdown(block: Any, names: set[str]) -> None:
    if block[KEY] not in names:
        raise Deep500Error(
            "samples.jsonl: a breakdown is of an entry that was not planned"
        )
    if isinstance(block.get("unsupported"), str):
        return
    where = "samples.jsonl: a breakdown"
    check_object(where, block, BREAKDOWN)
    series = [block["network"]]
    for operator in block["operators"]:
        series.append(check_object(where, operator, OPERATOR)["ns"])
    rounds = len(block["network"])
    for times in series:
        if len(times) != rounds or not all(map(_is_time, times)):
            raise Deep500Error(f"{where} has times that are not one per round")


def _is_time(ns: object) -> bool:
    return type(ns) is int and 0 < ns < LARGEST_NS
