"""A benchmark: the times of statements, functions, commands or operators, measured side by side."""

from collections.abc import Sequence

from ..contracts.result import Record
from ..contracts.standing import Contestant
from ..measure.bench_blocks import TimedBlock, check_blocks
from ..measure.bench_plan import BenchPlan
from ..measure.numbers import BenchNumbers
from .benching.bench_standing import bench_contestants
from .benching.times_kind import TimesKind, report_data

BenchRecord = Record[BenchPlan, TimedBlock, BenchNumbers]


class Bench(TimesKind[TimedBlock]):
    """Blocks of times, one per candidate and visit; medians, intervals and comparisons follow from them."""

    def check_blocks(
        self, plan: BenchPlan, blocks: Sequence[object]
    ) -> list[TimedBlock]:
        return check_blocks(plan, blocks)

    def timed(self, blocks: Sequence[TimedBlock]) -> list[TimedBlock]:
        return list(blocks)

    def contestants(self, record: BenchRecord) -> Sequence[Contestant]:
        numbers = report_data(record).derived.entries
        return [*bench_contestants(self.result(record), numbers)]
