"""Every number that is reported of an instrumented script, from its blocks alone."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add, sub
from statistics import median

from ...contracts.result import Record
from ...errors import TooFewSamples
from ...measure.regions.step_regions import SEPARATOR
from ...measure.statistics.intervals import interval
from ...schema import inline, optional
from .blocks import RecordedValue, ScriptBlock, ScriptPlan, Stretch

LEVEL = 0.95
OTHER = "other"  # of the time of steps, what is in no region
LARGEST = 1e150  # no interval is computed of numbers beyond


@dataclass(frozen=True, kw_only=True)
class TimeSummary:
    """The median of some times with its interval, their total and their extremes."""

    n: int
    median: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = optional()
    total: float = 0.0
    first: float | None = optional()
    least: float | None = optional()
    most: float | None = optional()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class RegionNumbers:
    """A region of the steps: its times, and its share of the time of all steps."""

    path: str
    share: float | None
    time: TimeSummary = inline()


@dataclass(frozen=True)
class TimeParts:
    """Where the whole time went; `whole` is None for a run that has not ended."""

    steps: float
    evaluation: float
    outside: float
    recording: float
    whole: float | None


@dataclass(frozen=True)
class Course:
    """The first, last and extreme finite numbers of a value, and the first step where it was not finite."""

    first: float | None
    last: float | None
    least: float | None
    most: float | None
    not_finite_at: int | None
    not_finite: int
    n: int


@dataclass(frozen=True)
class QualityNumbers:
    """The last value of a quality, None if it is not finite, and the best one if its direction is known."""

    split: str
    name: str
    better: str | None
    n: int
    not_finite: int
    last: float | None
    best: float | None


@dataclass(frozen=True)
class ScriptNumbers:
    """Steps, times, regions, values and qualities."""

    steps: int
    step_seconds: TimeSummary
    examples: int | None
    examples_per_second: float | None
    parts: TimeParts
    regions: Sequence[RegionNumbers]
    values: Mapping[str, Course]
    qualities: Sequence[QualityNumbers]
    ended: str  # what ended the run early


ScriptRecord = Record[ScriptPlan, ScriptBlock, ScriptNumbers]
Blocks = Sequence[ScriptBlock]


def script_numbers(plan: ScriptPlan, blocks: Blocks) -> ScriptNumbers | None:
    """All numbers; None before the first block."""
    if not blocks:
        return None
    seconds = step_seconds(blocks)
    values = {}
    for name, series in value_series(blocks).items():
        values[name] = _course(series)
    return ScriptNumbers(
        len(seconds),
        summary(seconds),
        _examples(blocks),
        _throughput(blocks),
        _parts(blocks),
        _regions(blocks),
        values,
        _qualities(blocks, plan.better),
        _reason(blocks),
    )


def stretches(blocks: Blocks) -> Iterator[Stretch]:
    """The blocks of steps."""
    for block in blocks:
        if block.steps:
            yield block.steps


def step_seconds(blocks: Blocks) -> list[float]:
    """The time of every step."""
    seconds: list[float] = []
    for steps in stretches(blocks):
        seconds += steps.seconds
    return seconds


def region_series(blocks: Blocks) -> dict[str, list[float]]:
    """The seconds of every region in every step; 0 in a step that did not enter it."""
    series: dict[str, list[float]] = {}
    steps_before = 0
    for steps in stretches(blocks):
        for path, seconds in steps.regions.items():
            times = series.setdefault(path, [])
            times += [0.0] * (steps_before - len(times))
            times += seconds
        steps_before += len(steps.seconds)
    for times in series.values():
        times += [0.0] * (steps_before - len(times))
    return series


def value_series(blocks: Blocks) -> dict[str, list[float | None]]:
    """The values that the steps gave, by name; None where a step gave nothing."""
    series: dict[str, list[float | None]] = {}
    steps_before = 0
    for steps in stretches(blocks):
        for name, entries in steps.values.items():
            values = series.setdefault(name, [])
            values += [None] * (steps_before - len(values))
            values += map(_number, entries)
        steps_before += len(steps.seconds)
    for values in series.values():
        values += [None] * (steps_before - len(values))
    return series


def quality_series(blocks: Blocks) -> dict[tuple[str, str], list[float]]:
    """The values of every quality by split and name, one for each evaluation that gave one."""
    series: dict[tuple[str, str], list[float]] = {}
    for block in blocks:
        if not block.evaluation:
            continue
        split = block.evaluation.split
        for name, value in block.evaluation.qualities.items():
            number = _number(value)
            if number is not None:
                series.setdefault((split, name), []).append(number)
    return series


def summary(seconds: Sequence[float]) -> TimeSummary:
    """The median of some times with its interval, unless there are too few of them or one is too long."""
    if not seconds:
        return TimeSummary(n=0)
    low = high = None
    notes: Sequence[str] = ()
    if max(seconds) <= LARGEST:
        try:
            of_median = interval(seconds, level=LEVEL)
        except TooFewSamples as reason:
            notes = [f"no interval: {reason}"]
        else:
            low, high, notes = of_median.low, of_median.high, of_median.notes
    return TimeSummary(
        n=len(seconds),
        median=median(seconds),
        low=low,
        high=high,
        level=LEVEL,
        total=math.fsum(seconds),
        first=seconds[0],
        least=min(seconds),
        most=max(seconds),
        notes=notes,
    )


def _number(value: RecordedValue) -> float | None:
    """The value as a number; "nan", "inf" and "-inf" are some, too."""
    return None if value is None else float(value)


def _examples(blocks: Blocks) -> int | None:
    """How many examples the steps had; None if one of them did not say."""
    total = 0
    for steps in stretches(blocks):
        for count in steps.examples:
            if count is None:
                return None
            total += count
    return total if any(stretches(blocks)) else None


def _throughput(blocks: Blocks) -> float | None:
    """Examples per second over all steps together: a mean of the rates of single steps would be wrong."""
    examples = _examples(blocks)
    seconds = math.fsum(step_seconds(blocks))
    if examples is None or not seconds:
        return None
    return examples / seconds


def _parts(blocks: Blocks) -> TimeParts:
    """Where the whole time went."""
    evaluation = outside = recording = 0.0
    whole = None
    for block in blocks:
        if block.steps:
            outside += block.steps.outside
            recording += block.steps.recording
        elif block.evaluation:
            evaluation += block.evaluation.seconds
        elif block.end:
            whole = block.end.seconds
    steps = math.fsum(step_seconds(blocks))
    return TimeParts(steps, evaluation, outside, recording, whole)


def _regions(blocks: Blocks) -> list[RegionNumbers]:
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
    rows.sort(key=lambda row: -row.time.total)
    outside = list(map(sub, steps, outermost))
    rows.append(_region(OTHER, outside, whole))
    return rows


def _region(path: str, seconds: Sequence[float], whole: float) -> RegionNumbers:
    time = summary(seconds)
    share = time.total / whole if whole else None
    return RegionNumbers(path, share, time)


def _course(series: Sequence[float | None]) -> Course:
    """The course of a value over the steps."""
    finite: list[float] = []
    steps_not_finite: list[int] = []
    for step, value in enumerate(series, 1):
        if value is None:
            continue
        if math.isfinite(value):
            finite.append(value)
        else:
            steps_not_finite.append(step)
    return Course(
        finite[0] if finite else None,
        finite[-1] if finite else None,
        min(finite, default=None),
        max(finite, default=None),
        steps_not_finite[0] if steps_not_finite else None,
        len(steps_not_finite),
        len(finite) + len(steps_not_finite),
    )


def _qualities(blocks: Blocks, better: Mapping[str, str]) -> list[QualityNumbers]:
    """Every quality of every split."""
    rows = []
    for (split, name), values in sorted(quality_series(blocks).items()):
        direction = better.get(name)
        finite = list(filter(math.isfinite, values))
        last = values[-1] if math.isfinite(values[-1]) else None
        best = _best(finite, direction)
        not_finite = len(values) - len(finite)
        row = QualityNumbers(
            split, name, direction, len(values), not_finite, last, best
        )
        rows.append(row)
    return rows


def _best(values: Sequence[float], direction: str | None) -> float | None:
    if direction is None or not values:
        return None
    return max(values) if direction == "higher" else min(values)


def _reason(blocks: Blocks) -> str:
    """What ended the run early; nothing if it came to its end."""
    for block in blocks:
        if block.end:
            return block.end.reason
    return "unfinished: no end was recorded"
