"""A benchmark of convolutions: who wins where, against PyTorch's best layout; rates, workspace and errors."""

from collections.abc import Sequence
from dataclasses import replace

from ..measure.bench_blocks import TimedBlock
from ..measure.bench_plan import BenchPlan
from ..reports.blocks import Figures, PageOnly, Report, Section
from ..reports.text import clean
from .bench import Bench, BenchRecord
from .benching.times_kind import report_data
from .convolutions.numbers import ConvolutionNumbers, convolution_cells
from .convolutions.page import answer, cell_table, legend, winners
from .convolutions.pictures import pictures

BEFORE = 2  # blocks of any benchmark: the banner and its problems


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
        report = super().report(record)
        numbers = report_data(record).derived
        if not isinstance(numbers, ConvolutionNumbers):
            return report
        banner, problems = report.blocks[:BEFORE]
        said = answer(numbers.cells)
        banner = replace(banner, sentence=said, headline=said, verdicts={})  # type: ignore[type-var]
        drawn = Section("Who wins where", [Figures(lambda: pictures(numbers.cells))])
        blocks = [
            banner,
            problems,
            Section("Who wins where", [winners(numbers.cells)], quiet=True),
            Section("Every way", [cell_table(numbers.cells), legend()], quiet=True),
            PageOnly([drawn]),
            PageOnly(report.blocks[BEFORE:-1]),
            report.blocks[-1],
        ]
        title = " · ".join(dict.fromkeys(clean(cell.shape) for cell in numbers.cells))
        return replace(
            report, kicker="Deep500 convolutions", title=title[:100], blocks=blocks
        )
