"""What kinds of benchmarks share: medians, intervals and comparisons follow from blocks of times."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic

from ...bundle.dates import Dates
from ...contracts.result import (
    BlockT,
    Contrast,
    Record,
    ResultKind,
    derived_document,
)
from ...contracts.sample_row import SampleRow
from ...errors import Deep500Error
from ...measure import derivation
from ...measure.bench_blocks import TimedBlock
from ...measure.bench_plan import BenchPlan
from ...measure.numbers import BenchNumbers
from ...measure.results import Result
from ...measure.statistics.comparison import Verdict
from ...reports.blocks import Report
from ...schema import encoded
from .contradictions import bench_contradictions, early_end
from .data import ReportData
from .measurement_comparison import contrast
from .measurement_report import bench_report

if TYPE_CHECKING:
    from ...contracts.dossier import Dossier

TimesRecord = Record[BenchPlan, BlockT, BenchNumbers]
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


class TimesKind(ResultKind[BenchPlan, BlockT, BenchNumbers], Generic[BlockT]):
    """Blocks of times, and perhaps others; `timed` says which are which."""

    procedure = derivation.PROCEDURE

    def timed(self, blocks: Sequence[BlockT]) -> list[TimedBlock]:
        """The blocks of times."""
        raise NotImplementedError

    def derive(self, plan: BenchPlan, blocks: Sequence[BlockT]) -> BenchNumbers | None:
        timed = self.timed(blocks)
        return Result(plan, timed).derived if timed else None

    def report(self, record: TimesRecord[BlockT]) -> Report:
        data = report_data(record)
        return bench_report(data, lambda: with_samples(data, self.result(record)))

    def numbers(self, record: TimesRecord[BlockT]) -> dict[str, object]:
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

    def accepted(self, record: TimesRecord[BlockT]) -> bool:
        """Whether nothing gave a wrong result."""
        return not record.plan.about.wrong

    def contradictions(
        self, record: TimesRecord[BlockT], dates: Dates
    ) -> Iterable[str]:
        return bench_contradictions(record, self.timed(record.blocks), dates)

    def remarks(self, record: TimesRecord[BlockT], dates: Dates) -> Iterable[str]:
        return early_end(record, self.timed(record.blocks))

    def dossier(self, record: TimesRecord[BlockT]) -> "Dossier":
        from .bench_dossier import bench_dossier

        return bench_dossier(record.plan, self.timed(record.blocks), record.derived)

    def sample_rows(self, record: TimesRecord[BlockT]) -> Iterable[SampleRow]:
        from .timed_rows import timed_rows

        return timed_rows(record.plan, self.timed(record.blocks))

    def compare(
        self,
        a: TimesRecord[BlockT],
        b: TimesRecord[BlockT],
        margin: float,
        level: float,
    ) -> Contrast:
        return contrast(self.result(a), self.result(b), margin, level)

    def result(self, record: TimesRecord[BlockT]) -> Result:
        """The samples of a record."""
        return Result(record.plan, self.timed(record.blocks))


def report_data(record: TimesRecord[BlockT]) -> ReportData:
    """What the report shows of a measurement, without the samples that only pictures need."""
    if record.derived is None:
        raise Deep500Error(
            f"{record.bundle} holds no samples yet: nothing was measured before it ended"
        )
    title = " · ".join(record.plan.names)
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


def with_samples(data: ReportData, result: Result) -> ReportData:
    """The data with every sample, for pictures."""
    samples = {}
    discarded = {}
    for i, name in enumerate(result.names):
        samples[name] = [process.seconds[i] for process in result.processes]
        discarded[name] = [process.discarded[i] for process in result.processes]
    return replace(data, samples=samples, discarded=discarded)
