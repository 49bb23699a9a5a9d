"""A benchmark of convolutions: who wins where, against PyTorch's best layout; rates, workspace and errors."""

from collections.abc import Sequence

from ..measure.bench_blocks import TimedBlock
from ..measure.bench_plan import BenchPlan
from ..reports.blocks import Report, Section
from .bench import Bench, BenchRecord
from .benching.page_around import page_around
from .benching.times_kind import report_data
from .convolutions.numbers import ConvolutionNumbers, convolution_cells
from .convolutions.page import answer, tables, title, winners
from .convolutions.pictures import pictures


class ConvolutionBench(Bench):
    """Times as of any benchmark, and their ratios to the better of PyTorch's two layouts."""

    def derive(
        self, plan: BenchPlan, blocks: Sequence[TimedBlock]
    ) -> ConvolutionNumbers | None:
        times = super().derive(plan, blocks)
        if times is None:
            return None
        cells = convolution_cells(plan, blocks, times)
        return ConvolutionNumbers(**vars(times), cells=cells)

    def report(self, record: BenchRecord) -> Report:
        data = report_data(record)
        assert isinstance(data.derived, ConvolutionNumbers)  # `derive` returns no other
        cells = data.derived.cells
        sections = [
            Section("Who wins where", [winners(cells)], quiet=True),
            Section("Every way", tables(cells), quiet=True),
        ]
        return page_around(
            data,
            "Deep500 convolutions",
            title(cells),
            answer(cells),
            sections,
            lambda: pictures(cells),
        )
