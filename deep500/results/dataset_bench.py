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
        examples = _about(plan, "examples")
        rates = []
        for entry in derived["entries"]:
            rates.append(_rate(entry, examples.get(entry["name"])))
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


def _about(plan: Plan, key: str) -> Mapping[str, Any]:
    """A part of what the plan says about the data; a plan may come from anyone."""
    about = plan.get("about")
    if not isinstance(about, Mapping):
        return {}
    part = about.get(key)
    return part if isinstance(part, Mapping) else {}


def _rate(entry: Mapping[str, Any], examples: object) -> dict[str, Any]:
    """Examples per second at the median; the longest time gives the lowest rate."""
    times = {"value": entry["median"], "low": entry["high"], "high": entry["low"]}
    rate: dict[str, Any] = {"name": entry["name"]}
    for key, time in times.items():
        rate[key] = None
        if is_number(examples) and 0 < examples < 1e15 and time:
            rate[key] = examples / time
    return rate


def _row(rate: Mapping[str, Any]) -> list[Text]:
    interval = NOTHING
    low, high = rate["low"], rate["high"]
    if is_number(low) and is_number(high):
        interval = f"[{number(low)}, {number(high)}]"
    return [clean(rate["name"]), number(rate["value"]), interval]


def _page_cache(plan: Plan) -> list[Text]:
    """The state of every container's files."""
    lines: list[Text] = []
    for container, state in _about(plan, "page_cache").items():
        if not isinstance(state, Mapping):
            continue
        seen = "not told"
        share = state.get("resident")
        if is_number(share):
            seen = f"{share:.0%} of the pages in memory"
        word = clean(str(state.get("state")))
        lines.append(f"page cache, {clean(container)}: {word} ({seen})")
    return lines
