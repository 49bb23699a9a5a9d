"""A test suite: the measurements that its tests made, one after another, each in several processes if asked for."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..bundle.dates import Dates
from ..contracts.result import Contrast, Record, ResultKind
from ..contracts.sample_row import SampleRow
from ..contracts.standing import Contestant
from ..measure import derivation
from ..reports.blocks import Report
from .suites.contents import (
    RecordedMeasurement,
    SuiteBlock,
    SuiteMeasurement,
    SuiteNumbers,
    SuitePlan,
    check_order,
    recorded_measurements,
)
from .suites.suite_page import suite_report

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier
    from ..measure.numbers import BenchNumbers

SuiteRecord = Record[SuitePlan, SuiteBlock, SuiteNumbers]


class Suite(ResultKind[SuitePlan, SuiteBlock, SuiteNumbers]):
    """Blocks of times by the name of the measurement; each is derived as a benchmark of its own."""

    procedure = derivation.PROCEDURE

    def check_blocks(
        self, plan: SuitePlan, blocks: Sequence[object]
    ) -> list[SuiteBlock]:
        checked = super().check_blocks(plan, blocks)
        check_order(checked)
        return checked

    def derive(
        self, plan: SuitePlan, blocks: Sequence[SuiteBlock]
    ) -> SuiteNumbers | None:
        measurements = []
        for measured in recorded_measurements(blocks):
            numbers = measured.result.derived
            info = measured.info or None
            measurements.append(
                SuiteMeasurement(measured.name, numbers, measured.group, info)
            )
        return SuiteNumbers(measurements) if measurements else None

    def report(self, record: SuiteRecord) -> Report:
        return suite_report(record)

    def compare(
        self, a: SuiteRecord, b: SuiteRecord, margin: float, level: float
    ) -> Contrast:
        from .suites.suite_contrast import suite_contrast

        measured_a = [*recorded_measurements(a.blocks)]
        measured_b = [*recorded_measurements(b.blocks)]
        return suite_contrast(measured_a, measured_b, margin, level)

    def contradictions(self, record: SuiteRecord, dates: Dates) -> Iterable[str]:
        from .benching.contradictions import call_times, orders, processes, spans

        for measured in recorded_measurements(record.blocks):
            plan, blocks = measured.result.plan, measured.result.blocks
            faults = [
                *processes(plan, blocks, finished=record.finished),
                *orders(plan, blocks),
                *spans(blocks, dates),
                *call_times(plan, blocks),
            ]
            for fault in faults:
                yield f"{measured.name}: {fault}"

    def sample_rows(self, record: SuiteRecord) -> Iterable[SampleRow]:
        from .benching.timed_rows import timed_rows

        for measured in recorded_measurements(record.blocks):
            result = measured.result
            yield from timed_rows(result.plan, result.blocks, measured.name)

    def contestants(self, record: SuiteRecord) -> Sequence[Contestant]:
        from .benching.bench_standing import bench_contestants

        contestants: list[Contestant] = []
        for measured, numbers in _with_numbers(record):
            contestants += bench_contestants(measured.result, numbers.entries)
        return contestants

    def dossier(self, record: SuiteRecord) -> "Dossier":
        from .suites.suite_dossier import suite_dossier

        return suite_dossier(_with_numbers(record))


def _with_numbers(
    record: SuiteRecord,
) -> list[tuple[RecordedMeasurement, "BenchNumbers"]]:
    """Every measurement with its numbers, none before there are any."""
    if record.derived is None:
        return []
    numbers = [measurement.numbers for measurement in record.derived.measurements]
    return [*zip(recorded_measurements(record.blocks), numbers, strict=True)]
