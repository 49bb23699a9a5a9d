"""Raw blocks as arrays: per process and entry, in the order of time, without the warm-up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import Deep500Error
from .agreement import is_after, is_clocks, is_untimed
from .interference import is_load
from .statistics.steadiness import SteadyState, steady_state

MOST_ENTRIES = 2000  # a file from anyone could ask for millions
NO_ENTRIES = "plan.json holds no list of entries: this is not the bundle of a benchmark"


@dataclass(frozen=True)
class ProcessSamples:
    """What one process measured after its warm-up."""

    # per entry: every visit, seconds per call
    seconds: list[np.ndarray]
    # per entry: one value per round, the geometric mean of its visits
    rounds: list[np.ndarray]
    states: list[SteadyState]  # per entry: how the times settled
    cut: int  # rounds left out as warm-up
    discarded: list[np.ndarray]  # per entry: the visits left out, for plots


def arrange(
    entries: int,
    blocks: Sequence[Mapping],
    cache: Mapping[int, ProcessSamples] | None = None,
) -> dict[int, ProcessSamples]:
    """Sort the blocks' visits by process and entry and cut the warm-up, the same for all entries of a process.

    Processes that are in the cache are taken from there.
    """
    blocks_of: dict[int, list[Mapping]] = {}
    for block in blocks:
        blocks_of.setdefault(block["process"], []).append(block)
    arranged = {}
    for process, process_blocks in blocks_of.items():
        if cache and process in cache:
            arranged[process] = cache[process]
        else:
            arranged[process] = _arrange_process(entries, process_blocks)
    return arranged


def _arrange_process(entries: int, blocks: Sequence[Mapping]) -> ProcessSamples:
    orders = np.concatenate([block["orders"] for block in blocks])
    times_ns = np.concatenate([_ns_per_call(block) for block in blocks])
    times = times_ns * 1e-9
    visits: list[np.ndarray] = []  # per entry: rounds x visits in a round
    for entry in range(entries):
        entry_times = times[orders == entry]
        visits.append(entry_times.reshape(len(orders), -1))
    rounds = [_geometric_means(times) for times in visits]
    states = [steady_state(means) for means in rounds]
    # A series that never settles is kept whole and said to be so: there is no good place to cut it.
    settled = [state for state in states if state.kind != "none"]
    cut = max((state.start for state in settled), default=0)
    return ProcessSamples(
        seconds=[times[cut:].ravel() for times in visits],
        rounds=[means[cut:] for means in rounds],
        states=states,
        cut=cut,
        discarded=[times[:cut].ravel() for times in visits],
    )


def _geometric_means(times: np.ndarray) -> np.ndarray:
    return np.exp(np.log(times).mean(axis=1))


def _ns_per_call(block: Mapping) -> np.ndarray:
    """The time of every visit of a block, by round and place in the round."""
    calls = np.asarray(block["calls"])
    orders = np.asarray(block["orders"])
    times = np.asarray(block["ns"], float)
    return times / calls[orders]


def check_plan(plan: object) -> dict:
    """The plan of a bundle, which may come from anyone; raises a Deep500Error if it is malformed."""
    if not isinstance(plan, dict):
        raise Deep500Error(NO_ENTRIES)
    entries = plan.get("entries")
    if not isinstance(entries, list) or not entries:
        raise Deep500Error(NO_ENTRIES)
    if len(entries) > MOST_ENTRIES:
        raise Deep500Error(
            f"plan.json has {len(entries)} entries, and at most {MOST_ENTRIES} are compared"
        )
    _check_range(plan, "level", 0.5, 1)
    _check_range(plan, "precision", 0, 1e9)
    _check_range(plan, "margin", 0, 1e9)
    for entry in entries:
        _check_entry(entry)
    names = {entry["name"] for entry in entries}
    if len(names) < len(entries):
        raise Deep500Error("plan.json: two entries have the same name")
    return plan


def _check_range(plan: dict, name: str, least: float, most: float) -> None:
    value = plan.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value < most:  # type: ignore[operator]
        raise Deep500Error(
            f"plan.json: {name} = {str(value)[:40]} is not a number in [{least}, {most})"
        )


def _check_entry(entry: object) -> None:
    texts = ("name", "kind", "text")
    if not isinstance(entry, dict) or not all(
        isinstance(entry.get(key), str) for key in texts
    ):
        raise Deep500Error("plan.json: an entry lacks its name, kind or text")
    if not isinstance(entry.get("levels"), dict):
        raise Deep500Error(
            f"plan.json: the entry {entry['name'][:40]!r} lacks its levels"
        )


def check_blocks(plan: Mapping, blocks: Sequence[object]) -> list[dict]:
    """The blocks of a bundle; raises a Deep500Error if one does not fit the plan."""
    entries = len(plan["entries"])
    checked = []
    for number, block in enumerate(blocks):
        if not isinstance(block, dict) or not _is_block(block, entries):
            raise Deep500Error(
                f"samples.jsonl: block {number} does not fit the plan's {entries} entries"
            )
        checked.append(block)
    batches = {tuple(block["calls"]) for block in checked}
    if len(batches) > 1:
        raise Deep500Error(
            "samples.jsonl: the number of calls in a batch changes between blocks"
        )
    return checked


def _is_block(block: dict, entries: int) -> bool:
    visits = list(range(entries))
    if entries > 1:
        visits = sorted(visits * 2)
    orders = block.get("orders")
    times = block.get("ns")
    if not _is_count(block.get("process"), 0):
        return False
    if not _are_counts(block.get("calls"), entries):
        return False
    if not isinstance(orders, list) or not isinstance(times, list):
        return False
    if len(orders) != len(times) or not times:
        return False
    if not all(_is_order(order, visits) for order in orders):
        return False
    count = len(visits)
    if not all(_are_counts(round_times, count) for round_times in times):
        return False
    return _are_extras(block, entries)


def _is_order(order: object, visits: list[int]) -> bool:
    if not isinstance(order, list) or not _are_counts(order, len(visits), 0):
        return False
    return sorted(order) == visits


def _are_extras(block: dict, entries: int) -> bool:
    """Whether the optional fields of a block are well formed."""
    if "load" in block and not is_load(block["load"], entries):
        return False
    if "device_ns" in block and not _are_device_times(block):
        return False
    if "span_s" in block and not _is_span(block["span_s"]):
        return False
    if "clocks" in block and not is_clocks(block["clocks"]):
        return False
    if "untimed" in block and not is_untimed(block["untimed"], entries):
        return False
    if "after" in block and not is_after(block["after"], entries):
        return False
    if "alone" in block and not _are_rows(block["alone"], entries):
        return False
    return isinstance(block.get("layout", {}), dict)


def _are_device_times(block: dict) -> bool:
    """Whether there is a time by a device's clock for every visit, 0 where an entry has no device."""
    rounds, orders = block["device_ns"], block["orders"]
    if not isinstance(rounds, list) or len(rounds) != len(orders):
        return False
    return all(
        _are_counts(times, len(order), 0)
        for times, order in zip(rounds, orders, strict=True)
    )


def _are_rows(rows: object, entries: int) -> bool:
    """Whether these are times of visits in a row: at least two, or none where visits are too long for a row."""
    if not isinstance(rows, list) or len(rows) != entries:
        return False
    for row in rows:
        if not isinstance(row, list) or len(row) == 1:
            return False
        if not _are_counts(row, len(row)):
            return False
    return True


def _is_span(span: object) -> bool:
    """Whether this is a pair of times, start and end, in seconds since the beginning of the run."""
    if not isinstance(span, list) or len(span) != 2:
        return False
    if not all(type(seconds) in (int, float) for seconds in span):
        return False
    return 0 <= span[0] <= span[1] < 1e9


def _are_counts(values: object, length: int, least: int = 1) -> bool:
    if not isinstance(values, list) or len(values) != length:
        return False
    return all(_is_count(value, least) for value in values)


def _is_count(value: object, least: int = 1) -> bool:
    return type(value) is int and least <= value < 1 << 62
