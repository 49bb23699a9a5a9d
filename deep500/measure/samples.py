"""Raw blocks as arrays: per process and entry, in the order of time, without the warm-up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import Deep500Error
from .agreement import is_clocks
from .interference import is_load
from .statistics.steadiness import SteadyState, steady_state

MOST_ENTRIES = 2000  # a file from anyone could ask for millions


@dataclass(frozen=True)
class ProcessSamples:
    """What one process measured after its warm-up."""

    seconds: list[np.ndarray]  # per entry: every visit, seconds per call
    rounds: list[
        np.ndarray
    ]  # per entry: one value per round, the geometric mean of its visits
    states: list[SteadyState]  # per entry: how the times settled
    cut: int  # rounds left out as warm-up
    discarded: list[np.ndarray]  # per entry: the visits left out, for pictures


def arrange(
    entries: int,
    blocks: Sequence[Mapping],
    known: Mapping[int, ProcessSamples] | None = None,
) -> dict[int, ProcessSamples]:
    """Sort the blocks' visits by process and entry and cut the warm-up, the same for all entries of a process.

    Processes that are `known` already are taken from there.
    """
    processes: dict[int, list[Mapping]] = {}
    for block in blocks:
        processes.setdefault(block["process"], []).append(block)
    return {
        process: known[process]
        if known and process in known
        else _process(entries, own)
        for process, own in processes.items()
    }


def _process(entries: int, blocks: Sequence[Mapping]) -> ProcessSamples:
    visits: list[np.ndarray] = []  # per entry: rounds x visits in a round
    orders = np.concatenate([np.asarray(b["orders"]) for b in blocks])
    times = (
        np.concatenate(
            [
                np.asarray(b["ns"], float)
                / np.asarray(b["calls"])[np.asarray(b["orders"])]
                for b in blocks
            ]
        )
        * 1e-9
    )
    for entry in range(entries):
        visits.append(times[orders == entry].reshape(len(orders), -1))
    rounds = [np.exp(np.log(v).mean(axis=1)) for v in visits]
    states = [steady_state(r) for r in rounds]
    # A series that never settles is kept whole and said to be so: there is no good place to cut it.
    cut = max((s.start for s in states if s.kind != "none"), default=0)
    return ProcessSamples(
        [v[cut:].ravel() for v in visits],
        [r[cut:] for r in rounds],
        states,
        cut,
        [v[:cut].ravel() for v in visits],
    )


def check_plan(plan: object) -> dict:
    """The plan of a bundle, if it has the form that the numbers need; the file may come from anyone."""
    settings = {"level": (0.5, 1), "precision": (0, 1e9), "margin": (0, 1e9)}
    if (
        not isinstance(plan, dict)
        or not isinstance(plan.get("entries"), list)
        or not plan["entries"]
    ):
        raise Deep500Error(
            "plan.json holds no list of entries: this is not the bundle of a benchmark"
        )
    if len(plan["entries"]) > MOST_ENTRIES:
        count = len(plan["entries"])
        raise Deep500Error(
            f"plan.json has {count} entries, and at most {MOST_ENTRIES} are compared"
        )
    for name, (least, most) in settings.items():
        value = plan.get(name)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value < most
        ):
            raise Deep500Error(
                f"plan.json: {name} = {str(value)[:40]} is not a number in [{least}, {most})"
            )
    for entry in plan["entries"]:
        if not isinstance(entry, dict) or not all(
            isinstance(entry.get(k), str) for k in ("name", "kind", "text")
        ):
            raise Deep500Error("plan.json: an entry lacks its name, kind or text")
        if not isinstance(entry.get("levels"), dict):
            raise Deep500Error(
                f"plan.json: the entry {entry['name'][:40]!r} lacks its levels"
            )
    if len({e["name"] for e in plan["entries"]}) < len(plan["entries"]):
        raise Deep500Error("plan.json: two entries have the same name")
    return plan


def check_blocks(plan: Mapping, blocks: Sequence[object]) -> list[dict]:
    """The blocks of a bundle, if they have the form that the numbers need."""
    checked = []
    for number, block in enumerate(blocks):
        if not isinstance(block, dict) or not _is_block(block, len(plan["entries"])):
            raise Deep500Error(
                f"samples.jsonl: block {number} does not fit the plan's {len(plan['entries'])} entries"
            )
        checked.append(block)
    if len({tuple(b["calls"]) for b in checked}) > 1:
        raise Deep500Error(
            "samples.jsonl: the number of calls in a batch changes between blocks"
        )
    return checked


def _is_block(block: dict, entries: int) -> bool:
    calls, orders, times = block.get("calls"), block.get("orders"), block.get("ns")
    visits = sorted([*range(entries)] * (2 if entries > 1 else 1))
    return (
        _is_count(block.get("process"), 0)
        and isinstance(calls, list)
        and len(calls) == entries
        and all(_is_count(c) for c in calls)
        and isinstance(orders, list)
        and isinstance(times, list)
        and len(orders) == len(times) > 0
        and all(
            isinstance(o, list)
            and all(_is_count(i, 0) for i in o)
            and sorted(o) == visits
            for o in orders
        )
        and all(
            isinstance(t, list)
            and len(t) == len(visits)
            and all(_is_count(v) for v in t)
            for t in times
        )
        and ("load" not in block or is_load(block["load"], entries))
        and ("span_s" not in block or _is_span(block["span_s"]))
        and isinstance(block.get("layout", {}), dict)
        and ("clocks" not in block or is_clocks(block["clocks"]))
    )


def _is_span(span: object) -> bool:
    """Seconds since the beginning of the run: from, to."""
    if not isinstance(span, list) or len(span) != 2:
        return False
    return all(type(t) in (int, float) for t in span) and 0 <= span[0] <= span[1] < 1e9


def _is_count(value: object, least: int = 1) -> bool:
    return type(value) is int and least <= value < 1 << 62
