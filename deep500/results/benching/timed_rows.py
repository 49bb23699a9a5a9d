"""The times of a benchmark as rows: every visit, with its levels, process, block, round and place."""

from collections.abc import Iterator, Sequence

from ...contracts.sample_row import LevelId, SampleRow
from ...measure.bench_blocks import TimedBlock
from ...measure.bench_plan import BenchPlan
from ...measure.results import Result


def timed_rows(
    plan: BenchPlan, blocks: Sequence[TimedBlock], measurement: str = ""
) -> Iterator[SampleRow]:
    """Seconds per call of every timed visit; `kept` says whether it lies after the warm-up."""
    names = [
        _row_name(measurement, entry.name, len(plan.entries)) for entry in plan.entries
    ]
    processes = Result(plan, list(blocks)).arrange()
    rounds_before: dict[int, int] = {}
    for number, block in enumerate(blocks):
        first = rounds_before.get(block.process, 0)
        rounds_before[block.process] = first + len(block.orders)
        cut = processes[block.process].cut
        for index, (order, times) in enumerate(
            zip(block.orders, block.ns, strict=True)
        ):
            for place, (entry, ns) in enumerate(zip(order, times, strict=True)):
                calls = block.calls[entry]
                levels: dict[str, LevelId] = {
                    **plan.entries[entry].levels,
                    "process": block.process,
                    "block": number,
                    "round": first + index,
                    "place": place,
                    "calls": calls,
                    "kept": first + index >= cut,
                }
                seconds = ns * 1e-9 / calls
                yield SampleRow(names[entry], "time", "s", seconds, levels)


def _row_name(measurement: str, entry: str, entries: int) -> str:
    if not measurement:
        return entry
    return measurement if entries == 1 else f"{measurement}: {entry}"
