"""Computes where the time of a training run went, from its history alone."""

import math

from ..contracts.metric import History

PARTS = ("data", "forward", "backward", "update", "evaluation", "other")
STEP = ("forward", "backward", "update")


def breakdown(history: History) -> dict[str, float]:
    """Seconds by part, which add up to the time of the run; {} if the history does not record that time.

    "data" is the wait for batches, "other" is what belongs to no part: events, checkpoints, the conversion of losses.
    A run without a breakdown has "step" in place of "forward", "backward" and "update".
    """
    whole = history.counters.get("run seconds")
    if not whole:
        return {}
    steps = math.fsum(history.step_seconds)
    data = math.fsum(history.series.get("data", []))
    parts = {"data": data}
    parts |= _step_parts(history, steps - data)
    parts["evaluation"] = history.counters.get("evaluation seconds", 0.0)
    parts["other"] = whole - math.fsum(parts.values())
    return parts


def _step_parts(history: History, seconds: float) -> dict[str, float]:
    """Seconds by part of a step; the time between the parts belongs to "other"."""
    series = history.series
    for name in STEP:
        if len(series.get(name, [])) != history.steps:
            return {"step": seconds}
    return {name: math.fsum(series[name]) for name in STEP}
