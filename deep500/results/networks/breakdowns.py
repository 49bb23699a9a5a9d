"""From times of single operators to medians with intervals, and to what the framework adds to them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import Refused
from ...measure.statistics.intervals import interval

Block = Mapping[str, Any]
ROW_KEYS = ("node", "operator", "kernel", "direction")


def breakdowns(blocks: Sequence[Block], level: float) -> list[dict[str, Any]]:
    """One breakdown for each entry whose operators were timed one by one."""
    by_entry: dict[str, list[Block]] = {}
    for block in blocks:
        by_entry.setdefault(block["breakdown"], []).append(block)
    results = []
    for name, of_entry in by_entry.items():
        results.append(_breakdown(name, of_entry, level))
    return results


def _breakdown(
    name: str, blocks: Sequence[Block], level: float
) -> dict[str, Any]:
    timed = [block for block in blocks if "unsupported" not in block]
    if not timed:
        return {"of": name, "unsupported": blocks[0]["unsupported"]}
    network = []
    sums = []
    overhead = []
    for block in timed:
        whole = _seconds(block["network"])
        operators = _sum(block)
        network.append(whole)
        sums.append(operators)
        overhead.append(whole - operators)  # round by round
    return {
        "of": name,
        "processes": len(timed),
        "level": level,
        "network": _median(network, level),
        "operators_sum": _median(sums, level),
        "overhead": _median(overhead, level),
        "operators": _operator_rows(timed, level),
    }


def _operator_rows(
    blocks: Sequence[Block], level: float
) -> list[dict[str, Any]]:
    """The median of every operator over all processes, the slowest first."""
    rows = []
    for i, operator in enumerate(blocks[0]["operators"]):
        about = {key: operator[key] for key in ROW_KEYS}
        times = [_seconds(block["operators"][i]["ns"]) for block in blocks]
        rows.append(about | _median(times, level))
    rows.sort(key=lambda row: row["median"], reverse=True)
    return rows


def _sum(block: Block) -> np.ndarray:
    """The time of all operators together, round by round."""
    times = [_seconds(row["ns"]) for row in block["operators"]]
    if not times:
        return np.zeros(len(block["network"]))
    return np.sum(times, axis=0)


def _seconds(ns: Sequence[int]) -> np.ndarray:
    return np.asarray(ns, float) * 1e-9


def _median(series: Sequence[np.ndarray], level: float) -> dict[str, Any]:
    """The median of the times of all processes, with an interval if there are enough of them."""
    n = sum(map(len, series))
    samples = list(series) if len(series) > 1 else series[0]
    try:
        of_median = interval(samples, 0.5, level)
    except Refused:
        median = float(np.median(np.concatenate(series)))
        return {"median": median, "low": None, "high": None, "n": n}
    return {
        "median": of_median.estimate,
        "low": of_median.low,
        "high": of_median.high,
        "n": n,
    }
