"""Two instrumented scripts side by side: times, qualities, and the step at which their losses part."""

from collections.abc import Mapping
from typing import Any

from ...contracts.result import Contrast, Record
from ...errors import Deep500Error, TooFewSamples
from ...measure.statistics.comparison import Comparison, compare
from ...reports.blocks import Block, Bullets, Table
from ...reports.tables import NOTHING, Number, number, ratio
from ...reports.text import Text, Verdict, clean, plain
from .numbers import region_series, step_seconds, value_series
from .report import step_time

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
    data = {
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
        Table(["setting", "A", "B"], [[*map(plain, row)] for row in settings], "ltt"),
    ]
    return Contrast(data, blocks)


def _times(a: Record, b: Record, margin: float, level: float) -> list[dict[str, Any]]:
    """The ratio of the times of a step, and of every region that both have."""
    if not step_seconds(a.blocks) or not step_seconds(b.blocks):
        raise Deep500Error("nothing to compare: one of the two runs has no steps")
    series_a = {STEP: step_seconds(a.blocks), **region_series(a.blocks)}
    series_b = {STEP: step_seconds(b.blocks), **region_series(b.blocks)}
    rows = []
    for name, seconds in series_a.items():
        if name in series_b:
            rows.append(_ratio(name, seconds, series_b[name], margin, level))
    return rows


def _ratio(
    name: str, a: list[float], b: list[float], margin: float, level: float
) -> dict[str, Any]:
    """B / A of the medians."""
    row: dict[str, Any] = {
        "name": name,
        "ratio": None,
        "low": None,
        "high": None,
        "n": 0,
    }
    if min(*a, *b) <= 0:
        return row | {"note": "not entered in every step: no ratio"}
    try:
        answer: Comparison = compare(a, b, margin, level)
    except TooFewSamples as reason:
        return row | {"n": min(len(a), len(b)), "note": f"no interval: {reason}"}
    facts = {
        "ratio": answer.ratio,
        "low": answer.low,
        "high": answer.high,
        "n": answer.n,
    }
    return row | facts | {"note": ""}


def _qualities(a: Record, b: Record) -> list[dict[str, Any]]:
    """The last values of every quality that both evaluated."""
    of_b = {(row["split"], row["name"]): row for row in _derived(b)["qualities"]}
    rows = []
    for row in _derived(a)["qualities"]:
        other = of_b.get((row["split"], row["name"]))
        if other is not None:
            facts = {"split": row["split"], "name": row["name"]}
            difference = other["last"] - row["last"]
            rows.append(
                facts | {"a": row["last"], "b": other["last"], "difference": difference}
            )
    return rows


def _course(a: Record, b: Record) -> dict[str, Any]:
    """Whether both runs had the same losses, to the last bit, and up to which step."""
    losses_a = value_series(a.blocks).get(LOSS, [])
    losses_b = value_series(b.blocks).get(LOSS, [])
    shared = min(len(losses_a), len(losses_b))
    if not shared:
        return {
            "parted_at": None,
            "shared": 0,
            "sentence": "One of the runs recorded no loss.",
        }
    parted = None
    for step, (x, y) in enumerate(zip(losses_a, losses_b, strict=False), 1):
        if repr(x) != repr(y):
            parted = step
            break
    if parted is None:
        sentence = (
            f"The losses of all {shared} shared steps are the same to the last bit."
        )
    else:
        sentence = f"The losses part at step {parted} of {shared}."
    return {"parted_at": parted, "shared": shared, "sentence": sentence}


def _settings(a: Record, b: Record) -> list[list[Any]]:
    """What was planned differently: name, value in A, value in B."""
    of_a, of_b = _planned(a), _planned(b)
    rows = []
    for name in dict.fromkeys([*of_a, *of_b]):
        if of_a.get(name) != of_b.get(name):
            rows.append([name, of_a.get(name), of_b.get(name)])
    return rows


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


def _time_table(a: Record, b: Record, times: list[dict[str, Any]]) -> Table:
    of_a, of_b = _medians(a), _medians(b)
    rows: list[list[Text]] = []
    for row in times:
        name = row["name"]
        effect = _effect(row)
        cells: list[Text] = [clean(name), of_a[name], of_b[name], effect]
        rows.append([*cells, Verdict("inconclusive")])
    return Table(["median per step", "A", "B", "B / A", "B is"], rows)


def _effect(row: Mapping[str, Any]) -> Text:
    if row["ratio"] is None:
        return Number("refused", n=row["note"])
    return ratio(row["ratio"], row["low"], row["high"], row["n"])


def _medians(record: Record) -> dict[str, Text]:
    derived = _derived(record)
    rows = {STEP: step_time(derived["step_seconds"])}
    for region in derived["regions"]:
        rows[region["path"]] = step_time(region)
    return rows


def _quality_table(qualities: list[dict[str, Any]]) -> Table:
    rows: list[list[Text]] = []
    for row in qualities:
        name = f"{clean(row['split'])} {clean(row['name'])}"
        sign = "+" if row["difference"] > 0 else ""
        numbers = [number(row["a"]), number(row["b"])]
        rows.append([name, *numbers, sign + number(row["difference"]) or NOTHING])
    return Table(["last quality", "A", "B", "B - A"], rows, "lrrr")
