"""The blocks of a benchmark: rounds of visits that one process timed, in nanoseconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ..errors import Deep500Error
from ..schema import Between, Count, Length, Positive, decoded, optional
from .agreement import Clocks
from .bench_plan import BenchPlan
from .device_conditions import DeviceConditions
from .load import Load

Seconds = Annotated[float, Between(0, 1e9)]
CpuShare = Annotated[float, Between(0, 1 << 62)]


@dataclass(frozen=True, kw_only=True)
class TimedBlock:
    """Rounds of visits in their orders; `calls` of an entry are timed together."""

    process: Count
    calls: Annotated[Sequence[Positive], Length(1 << 20, least=1)]
    untimed: Sequence[Count] | None = optional()  # visits before a timed one
    orders: Sequence[Sequence[Count]]
    ns: Sequence[Sequence[Positive]]
    # the same by the clocks of devices, 0 for an entry on the host
    device_ns: Sequence[Sequence[Count]] | None = optional()
    span_s: tuple[Seconds, Seconds] | None = optional()  # since the run began
    clocks: Clocks | None = optional()
    # CPU time after the clock had stopped, per timed time
    after: Sequence[CpuShare | None] | None = optional()
    # visits of each entry in a row: at least two, or none where visits are too long for a row
    alone: Sequence[Sequence[Positive]] | None = optional()
    layout: Mapping[str, Any] | None = optional()
    load: Load | None = optional()
    # of the devices that entries ran on, where a driver tells
    devices: Sequence[DeviceConditions] | None = optional()

    def __post_init__(self) -> None:
        entries = len(self.calls)
        visits = list(range(entries))
        if entries > 1:
            visits = sorted(visits * 2)
        if not self.orders or len(self.orders) != len(self.ns):
            raise ValueError("as many orders as times")
        for order, times in zip(self.orders, self.ns, strict=True):
            if sorted(order) != visits or len(times) != len(visits):
                raise ValueError("rounds that visit every entry, each with its time")
        if self.device_ns is not None:
            lengths = [len(times) for times in self.device_ns]
            if lengths != [len(times) for times in self.ns]:
                raise ValueError("a time by a device's clock for each visit")
        used = self.load.used if self.load else None
        for series in (self.untimed, self.after, self.alone, used):
            if series is not None and len(series) != entries:
                raise ValueError("a value for each entry")
        if any(len(row) == 1 for row in self.alone or ()):
            raise ValueError("rows of at least two visits")
        if self.span_s and self.span_s[0] > self.span_s[1]:
            raise ValueError("a span that ends after it begins")


def check_blocks(plan: BenchPlan, documents: Sequence[object]) -> list[TimedBlock]:
    """The blocks of a bundle; raises a Deep500Error if one does not fit the plan."""
    blocks = []
    for number, document in enumerate(documents):
        where = f"samples.jsonl: block {number}"
        blocks.append(decoded(TimedBlock, document, where))
    check_fit(plan, blocks)
    return blocks


def check_fit(plan: BenchPlan, blocks: Sequence[TimedBlock]) -> None:
    """Raise a Deep500Error unless all blocks time the entries of the plan in the same batches of calls."""
    entries = len(plan.entries)
    for number, block in enumerate(blocks):
        if len(block.calls) != entries:
            raise Deep500Error(
                f"samples.jsonl: block {number} does not fit the plan's {entries} entries"
            )
    if len({tuple(block.calls) for block in blocks}) > 1:
        raise Deep500Error(
            "samples.jsonl: the number of calls in a batch changes between blocks"
        )
