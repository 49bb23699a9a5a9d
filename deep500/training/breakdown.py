"""Where the time of a training run went, from its history alone."""

import math

from ..contracts.metric import History

PARTS = ("data", "forward", "backward", "update", "evaluation", "other")
STEP = ("forward", "backward", "update")


def breakdown(history: History) -> dict[str, float]:
    """Seconds by part, which add up to the whole run; {} if the history does not say how long that was.

    "data" is the wait for batches, "other" what is in no part: events, checkpoints, the conversion of losses. A run
    that was not asked for its parts has "step" in the place of forward, backward and update.
    """
    whole = history.counters.get("run seconds")
    if not whole:
        return {}
    steps = math.fsum(history.step_seconds)
    data = math.fsum(history.series.get("data", []))
    found = {"data": data, **_step_parts(history, steps - data)}
    found["evaluation"] = history.counters.get("evaluation seconds", 0.0)
    found["other"] = whole - math.fsum(found.values())
    return found


def _step_parts(history: History, seconds: float) -> dict[str, float]:
    """The parts of all steps; a step's time between them is in "other"."""
    series = history.series
    if any(len(series.get(name, [])) != history.steps for name in STEP):
        return {"step": seconds}
    return {name: math.fsum(series[name]) for name in STEP}
