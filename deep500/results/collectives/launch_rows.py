"""A benchmark of collectives as rows: when each rank arrived and left, in every iteration of every launch."""

from collections.abc import Iterator, Sequence

from ...contracts.sample_row import LevelId, SampleRow
from .data import CaseSamples, CollectiveLaunch


def launch_rows(blocks: Sequence[CollectiveLaunch]) -> Iterator[SampleRow]:
    """Seconds after the first rank's arrival, per rank: `arrival` and `leaving`."""
    for block in blocks:
        for row in block.rows:
            yield from _case(block, row)


def _case(block: CollectiveLaunch, row: CaseSamples) -> Iterator[SampleRow]:
    case = row.case
    common: dict[str, LevelId] = {
        "transport": block.transport,
        "ranks": block.ranks,
        "launch": block.launch,
        "operation": case.operation,
        "bytes": case.bytes,
        "dtype": case.dtype,
        "progress": case.progress,
    }
    moments = {"arrival": row.arrive, "leaving": row.leave}
    for quantity, iterations in moments.items():
        for iteration, ranks in enumerate(iterations):
            for rank, ns in enumerate(ranks):
                levels = common | {"iteration": iteration, "rank": rank}
                yield SampleRow(case.algorithm, quantity, "s", ns * 1e-9, levels)
