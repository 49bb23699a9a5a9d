"""A benchmark of a data set: latency of a batch and throughput of a pass, by container, decoder and workers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..contracts.result import Blocks, Plan, Record
from ..reports.blocks import Bullets, Report, Section, Table
from ..reports.tables import NOTHING, is_number, number
from ..reports.text import Text, clean
from .bench import Bench

BEFORE = 2  # blocks of any benchmark: the banner and its problems
LARGEST = 1e15  # examples; what is more is no count


class DatasetBench(Bench):
    """Times as of any benchmark; the examples per second follow from them and from the plan."""

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        derived = super().derive(plan, blocks)
        if derived is None:
            return None
        examples = _about(plan, "examples")
        rates = []
        for entry in derived["entries"]:
            count = examples.get(entry["name"])
            rates.append(_rate(entry, count))
        return derived | {"examples_per_second": rates}

    def report(self, record: Record) -> Report:
        report = super().report(record)
        rates = (record.derived or {}).get("examples_per_second", [])
        rows = [_row(rate) for rate in rates]
        throughput = Table(["read", "examples/s", "95 % interval"], rows, "lrr")
        page_cache = Bullets(_page_cache(record.plan))
        blocks = [
            *report.blocks[:BEFORE],
            Section("Throughput", [throughput], quiet=True),
            Section("Page cache", [page_cache], quiet=True),
            *report.blocks[BEFORE:],
        ]
        return replace(
            report, kicker="Deep500 data-set benchmark", blocks=blocks
        )


def _about(plan: Plan, key: str) -> Mapping[str, Any]:
    """A part of what the plan says about the data; a plan may come from anyone."""
    about = plan.get("about")
    if not isinstance(about, Mapping):
        return {}
    part = about.get(key)
    return part if isinstance(part, Mapping) else {}


def _rate(entry: Mapping[str, Any], examples: object) -> dict[str, Any]:
    """Examples per second at the median; the longest time gives the lowest rate."""
    return {
        "name": entry["name"],
        "value": _per_second(examples, entry["median"]),
        "low": _per_second(examples, entry["high"]),
        "high": _per_second(examples, entry["low"]),
    }


def _per_second(examples: object, time: Any) -> float | None:
    if not is_number(examples) or not 0 < examples < LARGEST:
        return None
    if not time:
        return None
    return examples / time


def _row(rate: Mapping[str, Any]) -> list[Text]:
    interval = NOTHING
    low = rate["low"]
    high = rate["high"]
    if is_number(low) and is_number(high):
        interval = f"[{number(low)}, {number(high)}]"
    return [clean(rate["name"]), number(rate["value"]), interval]


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
