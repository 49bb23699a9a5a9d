"""Two instrumented scripts side by side: times, qualities, and the step at which their losses part."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...contracts.result import Contrast, Record
from ...errors import Deep500Error, TooFewSamples
from ...measure.statistics.comparison import compare
from ...reports.blocks import Banner, Block, Bullets, Table
from ...reports.tables import Number, number, ratio
from ...reports.text import Text, VerdictWord, clean, flat, plain
from .instrumented_report import step_time
from .numbers import region_series, step_seconds, value_series

Row = dict[str, Any]  # of the comparison that `--json` prints
LOSS = "loss"
STEP = "step"
ONE_RUN_EACH = (
    "There is one run on each side, so that nobody knows how far runs lie apart: the intervals hold for these "
    "two runs, and no verdict is given."
)


def contrast(a: Record, b: Record, margin: float, level: float) -> Contrast:
    """B against A, as far as one run of each can tell."""
    times = _times(a, b, margin, level)
    qualities = _qualities(a, b)
    course = _course(a, b)
    settings = _settings(a, b)
    answer = _answer(times[0])
    data = {
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
        Bullets([course["sentence"], ONE_RUN_EACH]),
        _setting_table(settings),
    ]
    return Contrast(data, blocks, answer=answer)


def _answer(step: Row) -> Banner:
    """What one run of each says about the time of a step."""
    verdicts = {VerdictWord("inconclusive"): 1}
    sentence: list[Text] = [f"One run each gives no verdict on A and B: {step['note']}"]
    if step["ratio"] is not None:
        factor = ratio(step["ratio"], step["low"], step["high"], step["n"])
        sentence = [
            "A step takes ",
            Number(factor.value, factor.interval),
            " as long in B as in A; one run each gives no verdict",
        ]
    return Banner(sentence, sentence, verdicts)


def _times(a: Record, b: Record, margin: float, level: float) -> list[Row]:
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
) -> Row:
    """B / A of the medians, or the reason why there is no ratio."""
    if min(*a, *b) <= 0:
        return _refused(name, 0, "not entered in every step: no ratio")
    try:
        comparison = compare(a, b, margin, level)
    except TooFewSamples as reason:
        n = min(len(a), len(b))
        return _refused(name, n, f"no interval: {reason}")
    return {
        "name": name,
        "ratio": comparison.ratio,
        "low": comparison.low,
        "high": comparison.high,
        "n": comparison.n,
        "note": "",
    }


def _refused(name: str, n: int, reason: str) -> Row:
    return {
        "name": name,
        "ratio": None,
        "low": None,
        "high": None,
        "n": n,
        "note": reason,
    }


def _qualities(a: Record, b: Record) -> list[Row]:
    """The last values of every quality that both evaluated."""
    last_b = {}
    for quality in _derived(b)["qualities"]:
        key = quality["split"], quality["name"]
        last_b[key] = quality["last"]
    rows = []
    for quality in _derived(a)["qualities"]:
        split = quality["split"]
        name = quality["name"]
        if (split, name) not in last_b:
            continue
        value_a = quality["last"]
        value_b = last_b[split, name]
        row = {
            "split": split,
            "name": name,
            "a": value_a,
            "b": value_b,
            "difference": None,
        }
        if value_a is not None and value_b is not None:
            row["difference"] = value_b - value_a
        rows.append(row)
    return rows


def _course(a: Record, b: Record) -> dict[str, Any]:
    """Whether both runs had the same losses, to the last bit, and up to which step."""
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
    return {"parted_at": parted, "shared": shared, "sentence": sentence}


def _first_difference(
    losses_a: Sequence[float | None], losses_b: Sequence[float | None]
) -> int | None:
    """The first shared step at which the losses differ in a bit."""
    for step, (x, y) in enumerate(zip(losses_a, losses_b, strict=False), 1):
        if repr(x) != repr(y):
            return step
    return None


def _settings(a: Record, b: Record) -> list[list[Any]]:
    """What was planned differently: name, value in A, value in B."""
    settings_a = _planned(a)
    settings_b = _planned(b)
    rows = []
    for name in dict.fromkeys([*settings_a, *settings_b]):
        value_a = settings_a.get(name)
        value_b = settings_b.get(name)
        if value_a != value_b:
            rows.append([name, value_a, value_b])
    return rows


def _setting_table(settings: Sequence[Sequence[Any]]) -> Table:
    rows = []
    for row in settings:
        rows.append(list(map(plain, row)))
    return Table(["setting", "A", "B"], rows, "ltt")


def _planned(record: Record) -> dict[str, Any]:
    plan = record.plan
    return {
        "name": plan["name"],
        "seed": plan["seed"],
        "wait": plan["wait"],
        **plan["settings"],
    }


def _derived(record: Record) -> Mapping[str, Any]:
    return record.derived or {"qualities": [], "regions": []}


def _time_table(a: Record, b: Record, times: list[Row]) -> Table:
    medians_a = _medians(a)
    medians_b = _medians(b)
    rows = []
    for row in times:
        name = row["name"]
        cells = [
            clean(name),
            medians_a[name],
            medians_b[name],
            _effect(row),
            VerdictWord("inconclusive"),
        ]
        rows.append(cells)
    return Table(["median per step", "A", "B", "B / A", "B is"], rows)


def _effect(row: Row) -> Text:
    if row["ratio"] is None:
        return Number("refused", n=row["note"])
    return ratio(row["ratio"], row["low"], row["high"], row["n"])


def _medians(record: Record) -> dict[str, Text]:
    """The median time of a step, and of every region, by name."""
    derived = _derived(record)
    medians = {STEP: step_time(derived["step_seconds"])}
    for region in derived["regions"]:
        medians[region["path"]] = step_time(region)
    return medians


def _quality_table(qualities: list[Row]) -> Table:
    rows = []
    for row in qualities:
        split = clean(row["split"])
        name = clean(row["name"])
        difference = number(row["difference"])
        if (row["difference"] or 0) > 0:
            difference = f"+{difference}"
        cells = [
            f"{split} {name}",
            number(row["a"]),
            number(row["b"]),
            difference,
        ]
        rows.append(cells)
    return Table(["last quality", "A", "B", "B - A"], rows, "lrrr")
