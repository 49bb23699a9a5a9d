"""From times of single operators to medians with intervals, and to what the framework adds to them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import Refused
from ...measure.statistics.intervals import interval

Block = Mapping[str, Any]


def breakdowns(blocks: Sequence[Block], level: float) -> list[dict[str, Any]]:
    """One per entry that was taken apart."""
    by_entry: dict[str, list[Block]] = {}
    for block in blocks:
        by_entry.setdefault(block["breakdown"], []).append(block)
    return [_breakdown(name, own, level) for name, own in by_entry.items()]


def _breakdown(name: str, blocks: Sequence[Block], level: float) -> dict[str, Any]:
    good = [block for block in blocks if "unsupported" not in block]
    if not good:
        return {"of": name, "unsupported": blocks[0]["unsupported"]}
    whole, sums, overhead = [], [], []
    for block in good:
        network, operators = _seconds(block["network"]), _sum(block)
        whole.append(network)
        sums.append(operators)
        overhead.append(network - operators)  # round by round
    rows = []
    for i, row in enumerate(good[0]["operators"]):
        words = {key: row[key] for key in ("node", "operator", "kernel", "direction")}
        own = [_seconds(block["operators"][i]["ns"]) for block in good]
        rows.append(words | _median(own, level))
    rows.sort(key=lambda row: row["median"], reverse=True)
    return {
        "of": name,
        "processes": len(good),
        "level": level,
        "network": _median(whole, level),
        "operators_sum": _median(sums, level),
        "overhead": _median(overhead, level),
        "operators": rows,
    }


def _sum(block: Block) -> np.ndarray:
    """Of all operators, round by round."""
    times = [_seconds(row["ns"]) for row in block["operators"]]
    return np.sum(times, axis=0) if times else np.zeros(len(block["network"]))


def _seconds(ns: Sequence[int]) -> np.ndarray:
    return np.asarray(ns, float) * 1e-9


def _median(series: Sequence[np.ndarray], level: float) -> dict[str, Any]:
    n = sum(map(len, series))
    try:
        found = interval(list(series) if len(series) > 1 else series[0], 0.5, level)
    except Refused:
        return {
            "median": float(np.median(np.concatenate(series))),
            "low": None,
            "high": None,
            "n": n,
        }
    return {"median": found.estimate, "low": found.low, "high": found.high, "n": n}
