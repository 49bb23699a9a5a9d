"""A benchmark of a data set: latency of a batch and throughput of a pass, by container, decoder and workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from ..measure.bench_blocks import TimedBlock
from ..measure.bench_plan import BenchPlan
from ..measure.numbers import BenchNumbers, EntryNumbers
from ..reports.blocks import Bullets, Report, Section, Table
from ..reports.tables import NOTHING, number
from ..reports.text import Text, clean
from ..schema import Between, decoded, optional
from .bench import Bench, BenchRecord

BEFORE = 2  # blocks of any benchmark: the banner and its problems
ExampleCount = Annotated[float, Between(0, 1e15)]


@dataclass(frozen=True)
class PageCacheState:
    """Whether the files were in memory, and which share of their pages was."""

    state: str
    resident: float | None


@dataclass(frozen=True)
class DatasetFacts:
    """What the plan says about the data: the examples of a call by entry, and the page cache by container."""

    examples: Mapping[str, ExampleCount] = optional({})
    page_cache: Mapping[str, PageCacheState] = optional({})


def dataset_facts(plan: BenchPlan) -> DatasetFacts:
    """The facts that only the plan of a data set has."""
    return decoded(DatasetFacts, dict(plan.about.more), "plan.json: /about")


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

    def derive(
        self, plan: BenchPlan, blocks: Sequence[TimedBlock]
    ) -> DatasetNumbers | None:
        times = super().derive(plan, blocks)
        if times is None:
            return None
        examples = dataset_facts(plan).examples
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


def _rate(entry: EntryNumbers, examples: float | None) -> ExampleRate:
    return ExampleRate(
        entry.name,
        _per_second(examples, entry.median),
        _per_second(examples, entry.high),
        _per_second(examples, entry.low),
    )


def _per_second(examples: float | None, time: float | None) -> float | None:
    return examples / time if examples and time else None


def _row(rate: ExampleRate) -> list[Text]:
    interval = NOTHING
    if rate.low is not None and rate.high is not None:
        interval = f"[{number(rate.low)}, {number(rate.high)}]"
    return [clean(rate.name), number(rate.value), interval]


def _page_cache(plan: BenchPlan) -> list[Text]:
    """The state of every container's files."""
    lines: list[Text] = []
    for container, cache in dataset_facts(plan).page_cache.items():
        resident = "not told"
        if cache.resident is not None:
            resident = f"{cache.resident:.0%} of the pages in memory"
        name = clean(container)
        lines.append(f"page cache, {name}: {clean(cache.state)} ({resident})")
    return lines
