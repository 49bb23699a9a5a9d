"""A benchmark of a data set: latency of a batch and throughput of a pass, by container, decoder and workers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..contracts.result import Blocks, Plan, Record
from ..reports.blocks import Block, Bullets, Report, Section, Table
from ..reports.tables import NOTHING, is_number, number
from ..reports.text import Text, clean
from .bench import Bench


class DatasetBench(Bench):
    """Times as of any benchmark; the examples per second follow from them and from the plan."""

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        derived = super().derive(plan, blocks)
        if derived is None:
            return None
        rates = [_rate(entry, _examples(plan, entry["name"])) for entry in derived["entries"]]
        return derived | {"examples_per_second": rates}

    def report(self, record: Record) -> Report:
        report = super().report(record)
        rates = (record.derived or {}).get("examples_per_second", [])
        rows = [_row(rate) for rate in rates]
        headers = ["read", "examples/s", "95 % interval"]
        sections: list[Block] = [
            Section("Throughput", [Table(headers, rows, "lrr")], quiet=True),
            Section("Page cache", [Bullets(_page_cache(record.plan))], quiet=True),
        ]
        blocks = [*report.blocks[:2], *sections, *report.blocks[2:]]
        return replace(report, kicker="Deep500 data-set benchmark", blocks=blocks)


def _examples(plan: Plan, name: str) -> float | None:
    """How many examples a call reads, as the plan says, which may come from anyone."""
    about = plan.get("about")
    counts = about.get("examples") if isinstance(about, Mapping) else None
    count = counts.get(name) if isinstance(counts, Mapping) else None
    return count if is_number(count) and 0 < count < 1e15 else None


def _rate(entry: Mapping[str, Any], examples: float | None) -> dict[str, Any]:
    """At the median; the longest time gives the lowest rate."""
    times = {"value": entry["median"], "low": entry["high"], "high": entry["low"]}
    rate: dict[str, Any] = {"name": entry["name"]}
    for key, time in times.items():
        rate[key] = examples / time if examples and time else None
    return rate


def _row(rate: Mapping[str, Any]) -> list[Text]:
    interval = NOTHING
    if is_number(rate["low"]) and is_number(rate["high"]):
        interval = f"[{number(rate['low'])}, {number(rate['high'])}]"
    return [clean(rate["name"]), number(rate["value"]), interval]


def _page_cache(plan: Plan) -> list[Text]:
    about = plan.get("about")
    states = about.get("page_cache") if isinstance(about, Mapping) else None
    if not isinstance(states, Mapping):
        return []
    lines: list[Text] = []
    for container, state in states.items():
        if isinstance(state, Mapping):
            share = state.get("resident")
            seen = f"{share:.0%} of the pages in memory" if is_number(share) else "not told"
            lines.append(
                f"page cache, {clean(container)}: {clean(str(state.get('state')))} ({seen})"
            )
    return lines
