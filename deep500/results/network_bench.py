"""A benchmark of a network: latency, throughput, memory beside its prediction, and where the time goes."""

from collections.abc import Sequence

from ..errors import Deep500Error
from ..measure.bench_blocks import TimedBlock, check_fit
from ..measure.bench_plan import BenchPlan
from ..reports.blocks import Report
from ..schema import decoded
from .benching.times_kind import TimesKind, TimesRecord, report_data
from .networks.breakdowns import BreakdownBlock, NetworkNumbers, breakdowns
from .networks.network_bench_report import network_report

NetworkBlock = TimedBlock | BreakdownBlock


class NetworkBench(TimesKind[NetworkBlock]):
    """Blocks of times as of any benchmark, and blocks of the times of single operators."""

    def check_blocks(
        self, plan: BenchPlan, blocks: Sequence[object]
    ) -> list[NetworkBlock]:
        checked: list[NetworkBlock] = []
        for number, block in enumerate(blocks):
            where = f"samples.jsonl: block {number}"
            if isinstance(block, dict) and "breakdown" in block:
                checked.append(decoded(BreakdownBlock, block, where))
            else:
                checked.append(decoded(TimedBlock, block, where))
        check_fit(plan, self.timed(checked))
        names = {block.breakdown for block in _taken_apart(checked)}
        if not names <= {*plan.names}:
            raise Deep500Error(
                "samples.jsonl: a breakdown is of an entry that was not planned"
            )
        return checked

    def timed(self, blocks: Sequence[NetworkBlock]) -> list[TimedBlock]:
        return [block for block in blocks if isinstance(block, TimedBlock)]

    def derive(
        self, plan: BenchPlan, blocks: Sequence[NetworkBlock]
    ) -> NetworkNumbers | None:
        times = super().derive(plan, blocks)
        if times is None:
            return None
        taken_apart = breakdowns(_taken_apart(blocks), plan.level)
        return NetworkNumbers(**vars(times), breakdowns=taken_apart)

    def report(self, record: TimesRecord[NetworkBlock]) -> Report:
        return network_report(report_data(record))


def _taken_apart(blocks: Sequence[NetworkBlock]) -> list[BreakdownBlock]:
    return [block for block in blocks if isinstance(block, BreakdownBlock)]
