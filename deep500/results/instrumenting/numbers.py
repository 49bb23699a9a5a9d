"""Every number that is reported of an instrumented script, from its blocks alone."""

import math
from collections.abc import Iterator, Mapping, Sequence
from operator import add, sub
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
    values = {}
    for name, series in value_series(blocks).items():
        values[name] = _course(series)
    return {
        "steps": len(seconds),
        "step_seconds": summary(seconds),
        "examples": _examples(blocks),
        "examples_per_second": _throughput(blocks),
        "parts": _parts(blocks),
        "regions": _regions(blocks),
        "values": values,
        "qualities": _qualities(blocks, plan["better"]),
        "ended": _reason(blocks),
    }


def stretches(blocks: Blocks) -> Iterator[Mapping[str, Any]]:
    """The blocks of steps."""
    for block in blocks:
        if "steps" in block:
            yield block["steps"]


def step_seconds(blocks: Blocks) -> list[float]:
    """The time of every step."""
    seconds = []
    for steps in stretches(blocks):
        seconds += steps["seconds"]
    return seconds


def region_series(blocks: Blocks) -> dict[str, list[float]]:
    """The seconds of every region in every step; 0 in a step that did not enter it."""
    return _by_name(blocks, "regions", 0.0)


def value_series(blocks: Blocks) -> dict[str, list[float | None]]:
    """The values that the steps gave, by name; None where a step gave nothing."""
    series = {}
    for name, values in _by_name(blocks, "values", None).items():
        series[name] = list(map(_number, values))
    return series


def quality_series(blocks: Blocks) -> dict[tuple[str, str], list[float]]:
    """The values of every quality by split and name, one for each evaluation that gave one."""
    series: dict[tuple[str, str], list[float]] = {}
    for block in blocks:
        if "evaluation" not in block:
            continue
        split = block["evaluation"]["split"]
        for name, value in block["evaluation"]["qualities"].items():
            number = _number(value)
            if number is not None:
                series.setdefault((split, name), []).append(number)
    return series


def summary(seconds: Sequence[float]) -> dict[str, Any]:
    """The median of some times with its interval, their total and their extremes."""
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
        of_median = interval(seconds, level=LEVEL)
    except TooFewSamples as reason:
        facts["notes"] = [f"no interval: {reason}"]
        return facts
    facts["low"] = of_median.low
    facts["high"] = of_median.high
    facts["notes"] = list(of_median.notes)
    return facts


def _by_name(blocks: Blocks, key: str, absent: Any) -> dict[str, list[Any]]:
    """The series below a key, filled up where a stretch lacks one."""
    series: dict[str, list[Any]] = {}
    steps_before = 0
    for steps in stretches(blocks):
        for name, entries in steps[key].items():
            values = series.setdefault(name, [])
            _fill_up(values, steps_before, absent)
            values += entries
        steps_before += len(steps["seconds"])
    for values in series.values():
        _fill_up(values, steps_before, absent)
    return series


def _fill_up(values: list[Any], length: int, absent: Any) -> None:
    values += [absent] * (length - len(values))


def _number(value: Any) -> float | None:
    if isinstance(value, str):  # "nan", "inf" or "-inf"
        return float(value)
    return value


def _examples(blocks: Blocks) -> int | None:
    """How many examples the steps had; None if one of them did not say."""
    counts = []
    for steps in stretches(blocks):
        counts += steps["examples"]
    if not counts or None in counts:
        return None
    return sum(counts)


def _throughput(blocks: Blocks) -> float | None:
    """Examples per second over all steps together: a mean of the rates of single steps would be wrong."""
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
    steps = step_seconds(blocks)
    whole = math.fsum(steps)
    rows = []
    outermost = [0.0] * len(steps)
    for path, seconds in sorted(region_series(blocks).items()):
        rows.append(_region(path, seconds, whole))
        if SEPARATOR not in path:
            outermost = list(map(add, outermost, seconds))
    if not rows:
        return []
    rows.sort(key=lambda row: -row["total"])
    outside = list(map(sub, steps, outermost))
    rows.append(_region(OTHER, outside, whole))
    return rows


def _region(path: str, seconds: Sequence[float], whole: float) -> dict[str, Any]:
    facts = summary(seconds)
    share = None
    if whole:
        share = facts["total"] / whole
    return {"path": path, "share": share, **facts}


def _course(series: Sequence[float | None]) -> dict[str, Any]:
    """The course of a value: its first, last and extreme finite numbers, and the first step where it was not finite."""
    finite: list[float] = []
    steps_not_finite: list[int] = []
    for step, value in enumerate(series, 1):
        if value is None:
            continue
        if math.isfinite(value):
            finite.append(value)
        else:
            steps_not_finite.append(step)
    course: dict[str, Any] = {
        "first": None,
        "last": None,
        "least": None,
        "most": None,
        "not_finite_at": None,
        "not_finite": len(steps_not_finite),
        "n": len(finite) + len(steps_not_finite),
    }
    if finite:
        course["first"] = finite[0]
        course["last"] = finite[-1]
        course["least"] = min(finite)
        course["most"] = max(finite)
    if steps_not_finite:
        course["not_finite_at"] = steps_not_finite[0]
    return course


def _qualities(blocks: Blocks, better: Mapping[str, str]) -> list[dict[str, Any]]:
    """The last value of every quality of every split, None if it is not finite, and the best one of known direction."""
    rows = []
    for (split, name), values in sorted(quality_series(blocks).items()):
        direction = better.get(name)
        finite = list(filter(math.isfinite, values))
        row = {
            "split": split,
            "name": name,
            "better": direction,
            "n": len(values),
            "not_finite": len(values) - len(finite),
            "last": values[-1] if math.isfinite(values[-1]) else None,
            "best": _best(finite, direction),
        }
        rows.append(row)
    return rows


def _best(values: Sequence[float], direction: str | None) -> float | None:
    if direction is None or not values:
        return None
    if direction == "higher":
        return max(values)
    return min(values)


def _reason(blocks: Blocks) -> str:
    """What ended the run early; nothing if it came to its end."""
    for block in blocks:
        if "end" in block:
            return block["end"]["reason"]
    return "unfinished: no end was recorded"
