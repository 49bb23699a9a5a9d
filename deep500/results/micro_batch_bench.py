"""A benchmark of micro-batches: time of a training step over limits of workspace, and which layer chose what."""

from collections.abc import Sequence

from ..measure.bench_blocks import TimedBlock
from ..measure.bench_plan import BenchPlan
from ..reports.blocks import Block, PageOnly, Report, Section
from .bench import Bench, BenchRecord
from .benching.page_around import page_around
from .benching.times_kind import report_data
from .micro_batches.numbers import MicroBatchNumbers, step_numbers
from .micro_batches.page import answer, choices, legend, step_table, title
from .micro_batches.pictures import pictures


class MicroBatchBench(Bench):
    """Times as of any benchmark, and what the plans predicted."""

    def derive(
        self, plan: BenchPlan, blocks: Sequence[TimedBlock]
    ) -> MicroBatchNumbers | None:
        times = super().derive(plan, blocks)
        if times is None:
            return None
        steps = step_numbers(plan, blocks, times)
        return MicroBatchNumbers(**vars(times), steps=steps)

    def report(self, record: BenchRecord) -> Report:
        data = report_data(record)
        assert isinstance(data.derived, MicroBatchNumbers)  # `derive` returns no other
        steps = data.derived.steps
        sections: list[Block] = [
            Section("Memory against time", [step_table(steps), legend()], quiet=True),
            PageOnly([Section("Which layer chose what", choices(steps))]),
        ]
        return page_around(
            data,
            "Deep500 micro-batches",
            title(steps),
            answer(steps),
            sections,
            lambda: pictures(steps),
        )
