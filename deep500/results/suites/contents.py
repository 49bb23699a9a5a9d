"""The plan, blocks and numbers of a suite: measurements that a test suite made one after another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from ...errors import Deep500Error
from ...measure.bench_blocks import TimedBlock, check_fit
from ...measure.bench_plan import BenchPlan
from ...measure.numbers import BenchNumbers
from ...measure.results import Result
from ...schema import Between, Length, optional, others

MOST_MEASUREMENTS = 10_000
Name = Annotated[str, Length(1000, least=1)]


@dataclass(frozen=True, kw_only=True)
class SuitePlan:
    """Which tests measure something, and what they were told; every measurement has a plan of its own."""

    tests: Annotated[Sequence[str], Length(MOST_MEASUREMENTS)]
    processes: Annotated[int, Between(1, 10_001)]
    level: Annotated[float, Between(0.5, 1)]
    margin: Annotated[float, Between(0, 1e9)]
    more: Mapping[str, object] = others()


@dataclass(frozen=True, kw_only=True)
class SuiteBlock:
    """A part of one measurement: its plan (once, first), times, or what the test said about it."""

    name: Name
    plan: BenchPlan | None = optional()
    times: TimedBlock | None = optional()
    group: str | None = optional()
    info: Mapping[str, object] | None = optional()


@dataclass(frozen=True)
class SuiteMeasurement:
    """One measurement of a suite and every number derived from it."""

    name: str
    numbers: BenchNumbers
    group: str | None = optional()
    info: Mapping[str, object] | None = optional()


@dataclass(frozen=True)
class SuiteNumbers:
    measurements: Sequence[SuiteMeasurement]


@dataclass(frozen=True)
class RecordedMeasurement:
    """One measurement as it was recorded."""

    name: str
    result: Result
    group: str | None
    info: Mapping[str, object]


def recorded_measurements(
    blocks: Sequence[SuiteBlock],
) -> Iterator[RecordedMeasurement]:
    """The measurements of a suite that have times, in the order in which they began."""
    by_name: dict[str, list[SuiteBlock]] = {}
    for block in blocks:
        by_name.setdefault(block.name, []).append(block)
    for name, parts in by_name.items():
        times = [part.times for part in parts if part.times]
        if not times or parts[0].plan is None:
            continue
        groups = [part.group for part in parts if part.group is not None]
        info: dict[str, object] = {}
        for part in parts:
            info |= part.info or {}
        group = groups[0] if groups else None
        yield RecordedMeasurement(name, Result(parts[0].plan, times), group, info)


def check_order(blocks: Sequence[SuiteBlock]) -> None:
    """Raise a Deep500Error unless every measurement begins with its plan, has no second one, and its times fit it."""
    plans: dict[str, BenchPlan] = {}
    times: dict[str, list[TimedBlock]] = {}
    for number, block in enumerate(blocks):
        if (block.plan is None) != (block.name in plans):
            fault = "has a second plan" if block.plan else "begins without a plan"
            raise Deep500Error(
                f"samples.jsonl: block {number}: the measurement {block.name!r} {fault}"
            )
        if block.plan:
            plans[block.name] = block.plan
        if block.times:
            times.setdefault(block.name, []).append(block.times)
    for name, own in times.items():
        check_fit(plans[name], own)
