"""A benchmark: the times of statements, functions, commands or operators, measured side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..bundle.dates import Dates
from ..contracts.result import (
    Contrast,
    Plan,
    Record,
    ResultKind,
    derived_document,
)
from ..contracts.standing import Contestant
from ..errors import Deep500Error
from ..measure import derivation
from ..measure.numbers import BenchNumbers
from ..measure.results import Result
from ..measure.samples import check_blocks, check_plan
from ..measure.statistics.comparison import Verdict
from ..reports.blocks import Report
from ..schema import encoded
from .benching.bench_standing import bench_contestants
from .benching.contradictions import bench_contradictions, early_end
from .benching.data import ReportData
from .benching.measurement_comparison import contrast
from .benching.measurement_report import bench_report

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier

Times = dict[str, Any]  # a block, as check_blocks has seen it
BenchRecord = Record[Plan, Times, BenchNumbers]
LONGEST_TITLE = 100
UNFINISHED = "unfinished: the run was ended before its time"


@dataclass(frozen=True)
class VerdictOfEntry:
    """What a comparison says of an entry."""

    against: str
    verdict: Verdict
    ratio: float | None
    low: float | None
    high: float | None


class Bench(ResultKind[Plan, Times, BenchNumbers]):
    """Blocks of times, one per candidate and visit; medians, intervals and comparisons follow from them."""

    procedure = derivation.PROCEDURE

    def check_plan(self, plan: object) -> Plan:
        return check_plan(plan)

    def check_blocks(self, plan: Plan, blocks: Sequence[object]) -> list[Times]:
        return check_blocks(plan, blocks)

    def derive(self, plan: Plan, blocks: Sequence[Times]) -> BenchNumbers | None:
        if not blocks:
            return None
        return Result(plan, list(blocks)).derived

    def report(self, record: BenchRecord) -> Report:
        data = report_data(record)
        return bench_report(data, lambda: _with_samples(data, record))

    def numbers(self, record: BenchRecord) -> dict[str, object]:
        """Every entry with its own verdicts, beside everything that is derived."""
        derived = report_data(record).derived
        verdicts: dict[str, list[VerdictOfEntry]] = {}
        for c in derived.comparisons:
            verdict = VerdictOfEntry(c.base, c.verdict, c.ratio, c.low, c.high)
            verdicts.setdefault(c.other, []).append(verdict)
        entries = []
        for entry in derived.entries:
            additions = {
                "warmup_cut": entry.warmup.cut,
                "verdicts": verdicts.get(entry.name, []),
            }
            entries.append(encoded(entry) | additions)
        return derived_document(self, derived) | {"entries": entries}

    def accepted(self, record: BenchRecord) -> bool:
        """Whether no operator gave a wrong result."""
        about = record.plan.get("about")
        return not (isinstance(about, dict) and about.get("wrong"))

    def contradictions(self, record: BenchRecord, dates: Dates) -> Iterable[str]:
        return bench_contradictions(record, record.blocks, dates)

    def remarks(self, record: BenchRecord, dates: Dates) -> Iterable[str]:
        return early_end(record, record.blocks)

    def dossier(self, record: BenchRecord) -> "Dossier":
        from .benching.bench_dossier import bench_dossier

        return bench_dossier(record.plan, record.blocks, record.derived)

    def compare(
        self, a: BenchRecord, b: BenchRecord, margin: float, level: float
    ) -> Contrast:
        return contrast(_result(a), _result(b), margin, level)

    def contestants(self, record: BenchRecord) -> Sequence[Contestant]:
        numbers = report_data(record).derived.entries
        return [*bench_contestants(_result(record), numbers)]


def report_data(record: BenchRecord) -> ReportData:
    """What the report shows of a measurement, without the samples that only pictures need."""
    if record.derived is None:
        raise Deep500Error(
            f"{record.bundle} holds no samples yet: nothing was measured before it ended"
        )
    names = [entry["name"] for entry in record.plan["entries"]]
    title = " · ".join(names)
    return ReportData(
        title=title[:LONGEST_TITLE],
        plan=record.plan,
        environment=record.environment,
        derived=record.derived,
        bundle=record.bundle,
        hash=record.hash,
        problems=[] if record.finished else [UNFINISHED],
        sensors=record.sensors,
    )


def _with_samples(data: ReportData, record: BenchRecord) -> ReportData:
    result = _result(record)
    samples = {}
    discarded = {}
    for i, name in enumerate(result.names):
        samples[name] = [process.seconds[i] for process in result.processes]
        discarded[name] = [process.discarded[i] for process in result.processes]
    return replace(data, samples=samples, discarded=discarded)


def _result(record: BenchRecord) -> Result:
    return Result(record.plan, list(record.blocks))
