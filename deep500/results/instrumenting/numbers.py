"""Every number that is reported of an instrumented script, from its blocks alone."""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from ...contracts.result import Blocks, Plan
from ...errors import TooFewSamples
from ...measure.regions.step_regions import SEPARATOR
from ...measure.statistics.intervals import interval

LEVEL = 0.95
OTHER = "other"  # of the time of steps, what is in no region
PARTS = ("steps", "evaluation", "outside", "recording")
LARGEST = 1e150  # no interval is computed of numbers beyond


def numbers(plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
    """Steps, times, regions, values and qualities; None before the first block."""
    if not blocks:
        return None
    seconds = step_seconds(blocks)
    return {
        "steps": len(seconds),
        "step_seconds": summary(seconds),
        "examples": _examples(blocks),
        "examples_per_second": _throughput(blocks),
        "parts": _parts(blocks),
        "regions": _regions(blocks),
        "values": {
            name: _course(series) for name, series in value_series(blocks).items()
        },
        "qualities": _qualities(blocks, plan["better"]),
        "ended": _reason(blocks),
    }


def stretches(blocks: Blocks) -> Iterator[Mapping[str, Any]]:
    for block in blocks:
        if "steps" in block:
            yield block["steps"]


def step_seconds(blocks: Blocks) -> list[float]:
    """The time of every step."""
    seconds: list[float] = []
    for steps in stretches(blocks):
        seconds += steps["seconds"]
    return seconds


def region_series(blocks: Blocks) -> dict[str, list[float]]:
    """The seconds of every region in every step; 0 in a step that did not enter it."""
    return _by_name(blocks, "regions", 0.0)


def value_series(blocks: Blocks) -> dict[str, list[float | None]]:
    """What the steps gave by name; None where a step gave nothing."""
    series = _by_name(blocks, "values", None)
    return {
        name: [_number(value) for value in values] for name, values in series.items()
    }


def quality_series(blocks: Blocks) -> dict[tuple[str, str], list[float]]:
    """The finite values of every quality by split and name, one for each evaluation."""
    series: dict[tuple[str, str], list[float]] = {}
    for block in blocks:
        evaluation = block.get("evaluation", {"qualities": {}})
        for name, value in evaluation["qualities"].items():
            number = _number(value)
            if number is not None and math.isfinite(number):
                series.setdefault((evaluation["split"], name), []).append(number)
    return series


def summary(seconds: Sequence[float]) -> dict[str, Any]:
    """Median with its interval, total and extremes of some times."""
    if not seconds:
        return {
            "n": 0,
            "median": None,
            "low": None,
            "high": None,
            "total": 0.0,
            "notes": [],
        }
    facts: dict[str, Any] = {
        "n": len(seconds),
        "median": median(seconds),
        "low": None,
        "high": None,
        "level": LEVEL,
        "total": math.fsum(seconds),
        "first": seconds[0],
        "least": min(seconds),
        "most": max(seconds),
        "notes": [],
    }
    if facts["most"] > LARGEST:
        return facts
    try:
        known = interval(seconds, level=LEVEL)
    except TooFewSamples as reason:
        return facts | {"notes": [f"no interval: {reason}"]}
    return facts | {"low": known.low, "high": known.high, "notes": [*known.notes]}


def _by_name(blocks: Blocks, key: str, absent: Any) -> dict[str, list[Any]]:
    """The series below a key, filled up where a stretch lacks one."""
    series: dict[str, list[Any]] = {}
    before = 0
    for steps in stretches(blocks):
        count = len(steps["seconds"])
        for name, entries in steps[key].items():
            known = series.setdefault(name, [])
            known += [absent] * (before - len(known))
            known += entries
        before += count
    for entries in series.values():
        entries += [absent] * (before - len(entries))
    return series


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, str) else value


def _examples(blocks: Blocks) -> int | None:
    """How many examples the steps had; None if one of them did not say."""
    counts: list[int | None] = []
    for steps in stretches(blocks):
        counts += steps["examples"]
    if not counts or None in counts:
        return None
    return sum(count for count in counts if count is not None)


def _throughput(blocks: Blocks) -> float | None:
    """Examples per second over all steps: of rates, only the whole is a mean."""
    examples = _examples(blocks)
    seconds = math.fsum(step_seconds(blocks))
    if examples is None or not seconds:
        return None
    return examples / seconds


def _parts(blocks: Blocks) -> dict[str, float | None]:
    """Where the whole time went; "whole" is None for a run that has not ended."""
    parts: dict[str, Any] = dict.fromkeys(PARTS, 0.0)
    parts["whole"] = None
    parts["steps"] = math.fsum(step_seconds(blocks))
    for block in blocks:
        if "steps" in block:
            parts["outside"] += block["steps"]["outside"]
            parts["recording"] += block["steps"]["recording"]
        elif "evaluation" in block:
            parts["evaluation"] += block["evaluation"]["seconds"]
        else:
            parts["whole"] = block["end"]["seconds"]
    return parts


def _regions(blocks: Blocks) -> list[dict[str, Any]]:
    """Every region of the steps with its share of their time, and what is in none of them."""
    whole = math.fsum(step_seconds(blocks))
    rows = []
    outermost = [0.0] * len(step_seconds(blocks))
    for path, seconds in sorted(region_series(blocks).items()):
        rows.append(_region(path, seconds, whole))
        if SEPARATOR not in path:
            outermost = [a + b for a, b in zip(outermost, seconds, strict=True)]
    if not rows:
        return []
    rows.sort(key=lambda row: -row["total"])
    rest = [a - b for a, b in zip(step_seconds(blocks), outermost, strict=True)]
    return [*rows, _region(OTHER, rest, whole)]


def _region(path: str, seconds: Sequence[float], whole: float) -> dict[str, Any]:
    facts = summary(seconds)
    share = facts["total"] / whole if whole else None
    return {"path": path, "share": share, **facts}


def _course(series: Sequence[float | None]) -> dict[str, Any]:
    """How a value went: its first, last and least finite number, and the first step where it was not finite."""
    finite: list[float] = []
    others: list[int] = []  # steps
    for step, value in enumerate(series, 1):
        if value is None:
            continue
        if math.isfinite(value):
            finite.append(value)
        else:
            others.append(step)
    course: dict[str, Any] = dict.fromkeys(
        ("first", "last", "least", "most", "not_finite_at")
    )
    course["n"] = len(finite) + len(others)
    if finite:
        course["first"], course["last"] = finite[0], finite[-1]
        course["least"], course["most"] = min(finite), max(finite)
    if others:
        course["not_finite_at"] = others[0]
    return course


def _qualities(blocks: Blocks, better: Mapping[str, str]) -> list[dict[str, Any]]:
    """The last value of every quality of every split, and the best one where a direction is known."""
    rows = []
    for (split, name), values in sorted(quality_series(blocks).items()):
        direction = better.get(name)
        row: dict[str, Any] = {"split": split, "name": name, "better": direction}
        row["n"] = len(values)
        row["last"] = values[-1]
        row["best"] = None
        if direction is not None:
            row["best"] = max(values) if direction == "higher" else min(values)
        rows.append(row)
    return rows


def _reason(blocks: Blocks) -> str:
    """What ended the run early; nothing if it came to its end."""
    for block in blocks:
        if "end" in block:
            return block["end"]["reason"]
    return "unfinished: no end was recorded"
