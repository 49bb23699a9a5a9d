"""Two instrumented scripts side by side: times, qualities, and the step at which their losses part."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...contracts.result import Contrast
from ...errors import Deep500Error, TooFewSamples
from ...measure.statistics.comparison import compare
from ...reports.blocks import Banner, Block, Bullets, Table
from ...reports.tables import Number, number, ratio
from ...reports.text import Text, VerdictWord, clean, flat, plain
from ..outcomes.setting_difference import SettingDifference, setting_differences
from .instrumented_report import step_time
from .numbers import (
    QualityNumbers,
    ScriptRecord,
    TimeSummary,
    region_series,
    step_seconds,
    value_series,
)

LOSS = "loss"
STEP = "step"
ONE_RUN_EACH = (
    "There is one run on each side, so that nobody knows how far runs lie apart: the intervals hold for these "
    "two runs, and no verdict is given."
)


@dataclass(frozen=True)
class TimeRatio:
    """B / A of a median time, or the reason why there is no ratio."""

    name: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    note: str = ""


@dataclass(frozen=True)
class QualityDifference:
    """The last values of a quality that both evaluated."""

    split: str
    name: str
    a: float | None
    b: float | None
    difference: float | None


@dataclass(frozen=True)
class LossCourse:
    """Whether both runs had the same losses, to the last bit, and up to which step."""

    parted_at: int | None
    shared: int
    sentence: str


def contrast(a: ScriptRecord, b: ScriptRecord, margin: float, level: float) -> Contrast:
    """B against A, as far as one run of each can tell."""
    times = _times(a, b, margin, level)
    qualities = _qualities(a, b)
    course = _course(a, b)
    settings = setting_differences(_planned(a), _planned(b))
    answer = _answer(times[0])
    data: dict[str, object] = {
        "answer": "".join(flat(answer.sentence)),
        "comparisons": times,
        "qualities": qualities,
        "losses": course,
        "differences": settings,
        "level": level,
        "margin": margin,
        "note": ONE_RUN_EACH,
    }
    blocks: list[Block] = [
        _time_table(a, b, times),
        _quality_table(qualities),
        Bullets([course.sentence, ONE_RUN_EACH]),
        _setting_table(settings),
    ]
    return Contrast(data, blocks, answer=answer)


def _answer(step: TimeRatio) -> Banner:
    """What one run of each says about the time of a step."""
    verdicts = {VerdictWord("inconclusive"): 1}
    sentence: list[Text] = [f"One run each gives no verdict on A and B: {step.note}"]
    if step.ratio is not None:
        factor = ratio(step.ratio, step.low, step.high, step.n)
        sentence = [
            "A step takes ",
            Number(factor.value, factor.interval),
            " as long in B as in A; one run each gives no verdict",
        ]
    return Banner(sentence, sentence, verdicts)


def _times(
    a: ScriptRecord, b: ScriptRecord, margin: float, level: float
) -> list[TimeRatio]:
    """The ratio of the times of a step, and of every region that both have."""
    steps_a = step_seconds(a.blocks)
    steps_b = step_seconds(b.blocks)
    if not steps_a or not steps_b:
        raise Deep500Error("nothing to compare: one of the two runs has no steps")
    series_a = {STEP: steps_a, **region_series(a.blocks)}
    series_b = {STEP: steps_b, **region_series(b.blocks)}
    rows = []
    for name, seconds in series_a.items():
        if name in series_b:
            rows.append(_ratio(name, seconds, series_b[name], margin, level))
    return rows


def _ratio(
    name: str, a: list[float], b: list[float], margin: float, level: float
) -> TimeRatio:
    """B / A of the medians."""
    if min(*a, *b) <= 0:
        return TimeRatio(name, note="not entered in every step: no ratio")
    try:
        comparison = compare(a, b, margin, level)
    except TooFewSamples as reason:
        n = min(len(a), len(b))
        return TimeRatio(name, n=n, note=f"no interval: {reason}")
    return TimeRatio(
        name, comparison.ratio, comparison.low, comparison.high, comparison.n
    )


def _qualities(a: ScriptRecord, b: ScriptRecord) -> list[QualityDifference]:
    """The last values of every quality that both evaluated."""
    last_b = {(quality.split, quality.name): quality.last for quality in _evaluated(b)}
    rows = []
    for quality in _evaluated(a):
        key = (quality.split, quality.name)
        if key not in last_b:
            continue
        value_a = quality.last
        value_b = last_b[key]
        difference = None
        if value_a is not None and value_b is not None:
            difference = value_b - value_a
        rows.append(QualityDifference(*key, value_a, value_b, difference))
    return rows


def _evaluated(record: ScriptRecord) -> Sequence[QualityNumbers]:
    return record.derived.qualities if record.derived else ()


def _course(a: ScriptRecord, b: ScriptRecord) -> LossCourse:
    """Whether both runs had the same losses."""
    losses_a = value_series(a.blocks).get(LOSS, [])
    losses_b = value_series(b.blocks).get(LOSS, [])
    shared = min(len(losses_a), len(losses_b))
    parted = _first_difference(losses_a, losses_b)
    if not shared:
        sentence = "One of the runs recorded no loss."
    elif parted is None:
        sentence = (
            f"The losses of all {shared} shared steps are the same to the last bit."
        )
    else:
        sentence = f"The losses part at step {parted} of {shared}."
    return LossCourse(parted, shared, sentence)


def _first_difference(
    losses_a: Sequence[float | None], losses_b: Sequence[float | None]
) -> int | None:
    """The first shared step at which the losses differ in a bit."""
    for step, (x, y) in enumerate(zip(losses_a, losses_b, strict=False), 1):
        if repr(x) != repr(y):
            return step
    return None


def _setting_table(settings: Sequence[SettingDifference]) -> Table:
    rows = [list(map(plain, setting)) for setting in settings]
    return Table(["setting", "A", "B"], rows, "ltt")


def _planned(record: ScriptRecord) -> dict[str, object]:
    plan = record.plan
    return {"name": plan.name, "seed": plan.seed, "wait": plan.wait, **plan.settings}


def _time_table(a: ScriptRecord, b: ScriptRecord, times: list[TimeRatio]) -> Table:
    medians_a = _medians(a)
    medians_b = _medians(b)
    rows = []
    for row in times:
        name = row.name
        cells = [
            clean(name),
            medians_a[name],
            medians_b[name],
            _effect(row),
            VerdictWord("inconclusive"),
        ]
        rows.append(cells)
    return Table(["median per step", "A", "B", "B / A", "B is"], rows)


def _effect(row: TimeRatio) -> Text:
    if row.ratio is None:
        return Number("refused", n=row.note)
    return ratio(row.ratio, row.low, row.high, row.n)


def _medians(record: ScriptRecord) -> dict[str, Text]:
    """The median time of a step, and of every region, by name."""
    if not record.derived:
        return {STEP: step_time(TimeSummary(n=0))}
    medians = {STEP: step_time(record.derived.step_seconds)}
    for region in record.derived.regions:
        medians[region.path] = step_time(region.time)
    return medians


def _quality_table(qualities: list[QualityDifference]) -> Table:
    rows = []
    for row in qualities:
        split = clean(row.split)
        name = clean(row.name)
        difference = number(row.difference)
        if (row.difference or 0) > 0:
            difference = f"+{difference}"
        cells = [
            f"{split} {name}",
            number(row.a),
            number(row.b),
            difference,
        ]
        rows.append(cells)
    return Table(["last quality", "A", "B", "B - A"], rows, "lrrr")
