"""A benchmark: the times of statements, functions, commands or operators, measured side by side."""

from collections.abc import Sequence

from ..contracts.result import Record
from ..measure.bench_blocks import TimedBlock, check_blocks
from ..measure.bench_plan import BenchPlan
from ..measure.numbers import BenchNumbers
from .benching.times_kind import TimesKind

BenchRecord = Record[BenchPlan, TimedBlock, BenchNumbers]


class Bench(TimesKind[TimedBlock]):
    """Blocks of times, one per candidate and visit; medians, intervals and comparisons follow from them."""

    def check_blocks(
        self, plan: BenchPlan, blocks: Sequence[object]
    ) -> list[TimedBlock]:
        return check_blocks(plan, blocks)

    def timed(self, blocks: Sequence[TimedBlock]) -> list[TimedBlock]:
        return list(blocks)
