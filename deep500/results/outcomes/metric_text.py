"""One metric of a recipe's run in words: its name, median and interval, target and verdict."""

import math
import re
from collections.abc import Mapping

from ...contracts.metric import Scale, usual_scale
from ...contracts.metric_summary import MetricSummary
from ...reports.tables import NOTHING, Number, count, number, quantity, seconds
from ...reports.text import Text, VerdictWord, clean, counted, plain

SIGNS = {"higher": "≥ ", "lower": "≤ "}
# The units whose differences and margins are points.
POINTS = "%", "points"
# Metrics whose name a reader would not know, with the settings that their phrase needs.
PHRASES = {
    "FinalQuality": ("{split} {name}", ("split", "name")),
    "TimeToQuality": ("time to {name} (target {target})", ("name", "target")),
}
# Settings that say nothing to a reader unless they were changed.
USUAL_SETTINGS = {("LoadImbalance", "significance"): "0.05"}


def metric_name(metric: MetricSummary) -> str:
    """TimeToAccuracy(target=93.0) is "time to accuracy (target 93)", FinalQuality("R2") is "test R2"."""
    return words_for_metric(metric.name, metric.settings)


def words_for_metric(definition: str, written: Mapping[str, object]) -> str:
    """The words for a metric of this name and these settings."""
    name = clean(definition)
    settings = {}
    for key, value in written.items():
        settings[clean(key)] = _setting_text(value)
    phrase, needed = PHRASES.get(name, ("", ()))
    if phrase and settings.keys() >= set(needed):
        return phrase.format(**settings)
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    shown = []
    for key, value in settings.items():
        if value != USUAL_SETTINGS.get((name, key)):
            shown.append(f"{key} {value}")
    if not shown:
        return words
    return f"{words} ({', '.join(shown)})"


def _setting_text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return plain(value)


def difference_unit(unit: str) -> str:
    """The unit of a difference: two percentages differ by points."""
    return "points" if unit == "%" else unit


def amount(metric: MetricSummary, with_count: bool = True) -> Number:
    """The median with its interval, and with n if `with_count`; it says if there is no interval."""
    seeds = ""
    if with_count:
        seeds = count(metric.n)
    if is_unavailable(metric):
        return Number("unavailable")
    median = metric.median
    low = metric.low
    high = metric.high
    unit = metric.unit
    if median is None:
        middle = "not reached" if has_goal(metric) else "no value"
        return Number(middle, _open_interval(metric), seeds)
    if (low is None) != (high is None):
        return Number(single(median, unit), _open_interval(metric), seeds)
    if low is None:
        return Number(single(median, unit), "[no interval]", seeds)
    full = quantity(median, low, high, metric.n, unit, metric.level)
    return Number(full.value, full.interval, seeds)


def _open_interval(metric: MetricSummary) -> str:
    """An interval with an end that is not known: that needs more seeds with a value."""
    ends = []
    for end in (metric.low, metric.high):
        ends.append("not known" if end is None else single(end, metric.unit))
    if metric.low is None and metric.high is None:
        return ""
    return f"[{ends[0]}, {ends[1]}]"


def single(value: float, unit: str) -> str:
    """One value with its unit."""
    if unit == "s":
        return seconds(value)
    return f"{number(value)} {unit}".rstrip()


def target(metric: MetricSummary) -> str:
    """The target with its direction: ≥ 97 %."""
    if metric.target is None:
        return NOTHING
    sign = SIGNS.get(metric.better or "", "")
    value = f"{metric.target:g}"
    return f"{sign}{value} {metric.unit}".rstrip()


def met(metric: MetricSummary) -> str:
    """Whether the target is met: met, inconclusive or missed."""
    if metric.target is None:
        return NOTHING
    if not metric.acceptable:
        return VerdictWord("missed")
    if not metric.sure:
        return VerdictWord("inconclusive")
    return VerdictWord("met")


def is_unavailable(metric: MetricSummary) -> bool:
    """Whether the run could not measure what the metric needs."""
    return bool(metric.unavailable)


def never(metric: MetricSummary) -> int:
    """How many seeds gave no value."""
    return sum(value is None for value in metric.values)


def metric_scale(metric: MetricSummary) -> Scale:
    """The range of the values of a metric."""
    low, high = metric.range
    if low is None and high is None:
        return usual_scale(metric.kind, metric.unit)
    return Scale(-math.inf if low is None else low, math.inf if high is None else high)


def has_goal(metric: MetricSummary) -> bool:
    """Whether the metric is what it takes to reach a target."""
    return metric.not_before is not None


def against_target(metric: MetricSummary) -> list[Text]:
    """The median beside the target, with the reason if the verdict is not certain."""
    seeds = seed_count(metric.n)
    parts: list[Text] = [
        metric_name(metric),
        " ",
        amount(metric, with_count=False),
        f" over {seeds}, target {target(metric)[2:]}",
    ]
    doubt = _doubt(metric)
    if doubt:
        parts.append(f" ({doubt})")
    return parts


def _doubt(metric: MetricSummary) -> str:
    """Why the verdict is not certain; empty if the interval settles it."""
    seeds = metric.n
    without_value = never(metric)
    if is_unavailable(metric):
        return clean(metric.unavailable)
    if without_value:
        verb = "never reached it" if has_goal(metric) else "have no value"
        return f"{without_value} of {seed_count(seeds)} {verb}"
    if metric.low is None:
        verb = "gives" if seeds == 1 else "give"
        return f"{seed_count(seeds)} {verb} no interval, so how sure this is cannot be said"
    if metric.acceptable and metric.sure:
        return ""
    if metric.acceptable:
        return "the estimate meets the target, but the interval does not clear it"
    if _interval_reaches_target(metric):
        return "the interval reaches the target: more seeds may decide otherwise"
    return ""


def _interval_reaches_target(metric: MetricSummary) -> bool:
    is_higher = metric.better == "higher"
    end = metric.high if is_higher else metric.low
    if end is None or metric.target is None:
        return True
    return end >= metric.target if is_higher else end <= metric.target


def seed_range(metric: MetricSummary) -> str:
    """From the smallest to the largest value of a seed, and how many seeds have none."""
    reached = [value for value in metric.values if value is not None]
    unit = metric.unit
    if is_unavailable(metric):
        return NOTHING
    if not reached:
        return "no seed reached it" if has_goal(metric) else "no seed has a value"
    low = single(min(reached), unit)
    high = single(max(reached), unit)
    text = high
    if low != high:
        if unit != "s":  # the prefix of seconds may differ: 900 ms to 1.1 s
            low = low.removesuffix(f" {unit}")
        text = f"{low} to {high}"
    without_value = never(metric)
    if without_value:
        word = "never" if has_goal(metric) else "have none"
        text += f"; {without_value} of {metric.n} {word}"
    return text


def seed_count(n: int) -> str:
    """1 seed, 2 seeds."""
    return counted(n, "seed")
