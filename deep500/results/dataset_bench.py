"""A benchmark of a data set: latency of a batch and throughput of a pass, by container, decoder and workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..contracts.result import Plan
from ..measure.numbers import BenchNumbers, EntryNumbers
from ..reports.blocks import Bullets, Report, Section, Table
from ..reports.tables import NOTHING, is_number, number
from ..reports.text import Text, clean
from .bench import Bench, BenchRecord, Times

BEFORE = 2  # blocks of any benchmark: the banner and its problems
LARGEST = 1e15  # examples; what is more is no count


@dataclass(frozen=True)
class ExampleRate:
    """Examples per second at the median; the longest time gives the lowest rate."""

    name: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class DatasetNumbers(BenchNumbers):
    """Times, and what they mean for the examples of the data set."""

    examples_per_second: Sequence[ExampleRate]


class DatasetBench(Bench):
    """Times as of any benchmark; the examples per second follow from them and from the plan."""

    def derive(self, plan: Plan, blocks: Sequence[Times]) -> DatasetNumbers | None:
        times = super().derive(plan, blocks)
        if times is None:
            return None
        examples = _about(plan, "examples")
        rates = []
        for entry in times.entries:
            rates.append(_rate(entry, examples.get(entry.name)))
        return DatasetNumbers(**vars(times), examples_per_second=rates)

    def report(self, record: BenchRecord) -> Report:
        report = super().report(record)
        rows = []
        if isinstance(record.derived, DatasetNumbers):
            rows = [_row(rate) for rate in record.derived.examples_per_second]
        throughput = Table(["read", "examples/s", "95 % interval"], rows, "lrr")
        page_cache = Bullets(_page_cache(record.plan))
        blocks = [
            *report.blocks[:BEFORE],
            Section("Throughput", [throughput], quiet=True),
            Section("Page cache", [page_cache], quiet=True),
            *report.blocks[BEFORE:],
        ]
        return replace(report, kicker="Deep500 data-set benchmark", blocks=blocks)


def _about(plan: Plan, key: str) -> Mapping[str, Any]:
    """A part of what the plan says about the data; a plan may come from anyone."""
    about = plan.get("about")
    if not isinstance(about, Mapping):
        return {}
    part = about.get(key)
    return part if isinstance(part, Mapping) else {}


def _rate(entry: EntryNumbers, examples: object) -> ExampleRate:
    return ExampleRate(
        entry.name,
        _per_second(examples, entry.median),
        _per_second(examples, entry.high),
        _per_second(examples, entry.low),
    )


def _per_second(examples: object, time: float | None) -> float | None:
    if not is_number(examples) or not 0 < examples < LARGEST:
        return None
    return examples / time if time else None


def _row(rate: ExampleRate) -> list[Text]:
    interval = NOTHING
    if rate.low is not None and rate.high is not None:
        interval = f"[{number(rate.low)}, {number(rate.high)}]"
    return [clean(rate.name), number(rate.value), interval]


def _page_cache(plan: Plan) -> list[Text]:
    """The state of every container's files."""
    lines: list[Text] = []
    for container, state in _about(plan, "page_cache").items():
        if not isinstance(state, Mapping):
            continue
        resident = "not told"
        share = state.get("resident")
        if is_number(share):
            resident = f"{share:.0%} of the pages in memory"
        word = clean(str(state.get("state")))
        name = clean(container)
        lines.append(f"page cache, {name}: {word} ({resident})")
    return lines
