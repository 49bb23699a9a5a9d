"""The blocks of a benchmark of compression by network and scheme."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from ..collectives.samples import Series
from .data import UNLIMITED, Accuracy, CompressionBlock, RankTraffic, Times


@dataclass
class MethodSeries:
    """One scheme on one network: seconds of a step on the slowest rank, a list for each launch."""

    seconds: Series = field(default_factory=list)
    counted: list[float] = field(default_factory=list)
    wire: list[float] = field(default_factory=list)


@dataclass
class Networks:
    """All times. `isolated` are those in namespaces; `loopback` are those without, which have no limit."""

    isolated: dict[float, dict[str, MethodSeries]] = field(default_factory=dict)
    loopback: dict[str, MethodSeries] = field(default_factory=dict)
    launches: dict[tuple[float, bool], list[Times]] = field(default_factory=dict)

    @property
    def unlimited(self) -> dict[str, MethodSeries]:
        """The times of steps whose messages take next to no time."""
        return self.isolated.get(UNLIMITED) or self.loopback


def networks_of(blocks: Sequence[CompressionBlock]) -> Networks:
    networks = Networks()
    for block in blocks:
        times = block.times
        if times is None:
            continue
        key = times.bandwidth, times.is_namespace
        networks.launches.setdefault(key, []).append(times)
        into = networks.loopback
        if times.is_namespace:
            into = networks.isolated.setdefault(times.bandwidth, {})
        for row in times.rows:
            if not row.seconds:
                continue
            series = into.setdefault(row.method, MethodSeries())
            series.seconds.append([max(stretch) for stretch in row.seconds])
            series.counted.append(median(row.counted) if row.counted else 0.0)
            if row.wire:
                series.wire.append(median(row.wire))
    return networks


def accuracies_of(blocks: Sequence[CompressionBlock]) -> dict[str, list[Accuracy]]:
    """The runs of every scheme."""
    runs: dict[str, list[Accuracy]] = {}
    for block in blocks:
        if block.accuracy is not None and not block.accuracy.failure:
            runs.setdefault(block.accuracy.method, []).append(block.accuracy)
    return runs


def traffic_of(
    blocks: Sequence[CompressionBlock],
) -> dict[str, dict[int, RankTraffic]]:
    """The traffic of every scheme by number of ranks."""
    traffic: dict[str, dict[int, RankTraffic]] = {}
    for block in blocks:
        if block.traffic is not None:
            own = {one.ranks: one for one in block.traffic.by_ranks}
            traffic[block.traffic.method] = own
    return traffic


def failures_of(blocks: Sequence[CompressionBlock]) -> list[str]:
    """Everything that could not be measured, each reason once."""
    places: dict[str, list[str]] = {}
    for block in blocks:
        if block.failure:
            places.setdefault(block.failure, []).append(block.what)
    texts = []
    for failure, where in places.items():
        more = f" (and {len(where) - 1} more)" if len(where) > 1 else ""
        texts.append(f"{where[0]}{more}: {failure}")
    for block in blocks:
        for part in (block.accuracy, block.traffic):
            if part is not None and part.failure:
                texts.append(f"{block.what}: {part.failure}")
        for row in block.times.rows if block.times else ():
            if row.failure:
                texts.append(f"{row.method}: {row.failure}")
    return list(dict.fromkeys(texts))
