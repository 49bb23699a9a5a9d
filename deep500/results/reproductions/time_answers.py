"""Does every time come out again? The ratio again / original with its interval, and what the load can explain of it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import Refused
from ...measure.sensing.others import BUSY
from ...measure.statistics.intervals import mean_interval
from ..outcomes.equivalent import paired_values
from ..outcomes.metric_text import is_unavailable

YES, NO, NOT_JUDGED = "yes", "no", "not judged"
# Of a time on the same quiet machine; it differs by a tenth from minute to minute.
MARGIN = 0.25
# Threads of others also slow down those that run beside them: shared cores, caches and memory.
SHARED = 2.0

Metric = Mapping[str, Any]
Summary = Mapping[str, Any]
Conditions = Mapping[str, Any]  # "others", "stretch", "threads" of one run


def time_answer(
    original: Mapping[str, Any],
    summary: Summary,
    before: Metric,
    again: Metric,
    level: float,
) -> dict[str, Any]:
    """The ratio of one time or rate with its interval, the verdict and its reason."""
    answer: dict[str, Any] = {"ratio": None, "low": None, "high": None}
    lost = lost_value(before, again)
    if lost:
        return answer | {"verdict": NO, "reason": lost}
    if before["median"] is None or again["median"] is None:
        return answer | {"verdict": NOT_JUDGED, "reason": "a run has no value"}
    if not summary["same_machine"]:
        reason = "the machines are not alike"
        return answer | {"verdict": NOT_JUDGED, "reason": reason}
    pairs = paired_values(before, again, original["seeds"], summary["seeds"])
    logs = [math.log(y / x) for x, y in pairs if x > 0 and y > 0]
    try:
        found = mean_interval(logs, level)
    except Refused as refusal:
        return answer | {"verdict": NOT_JUDGED, "reason": str(refusal)}
    ratio, low, high = map(math.exp, (found.estimate, found.low, found.high))
    answer |= {"ratio": ratio, "low": low, "high": high}
    runs = [original.get("conditions"), summary.get("conditions")]
    limit = (1 + MARGIN) * explained(runs)
    if low > limit or high < 1 / limit:
        return answer | {"verdict": NO, "reason": _reason(runs, limit)}
    if 1 / limit <= low <= high <= limit and limit == 1 + MARGIN:
        return answer | {"verdict": YES, "reason": _reason(runs, limit)}
    return answer | {"verdict": NOT_JUDGED, "reason": _reason(runs, limit)}


def lost_value(before: Metric, again: Metric) -> str:
    """Why a repetition without a value contradicts an original with one; empty if it does not."""
    if before["median"] is None or again["median"] is not None:
        return ""
    if is_unavailable(again):
        return ""
    return f"the original has {before['median']:.6g} {before['unit']}, and here there is none".rstrip()


def explained(runs: Sequence[Conditions | None]) -> float:
    """The largest ratio that waiting for a CPU can explain; 1 if nobody else used the machine."""
    factor = 1.0
    for run in runs:
        if run is None:
            return math.inf
        if run["others"] is not None and run["others"] <= BUSY:
            continue
        if run["threads"] != 1 or run["stretch"] is None:
            return math.inf
        factor *= SHARED * max(1.0, run["stretch"])
    return factor


def _reason(runs: Sequence[Conditions | None], limit: float) -> str:
    shares = []
    for name, run in zip(("the original", "this run"), runs, strict=True):
        if run is None or run["others"] is None:
            shares.append(f"the load of {name} is not known")
        else:
            shares.append(
                f"others used {run['others']:.0%} of the CPUs during {name}"
            )
    allowed = "any factor" if math.isinf(limit) else f"a factor of {limit:.3g}"
    return f"{', '.join(shares)}, which can explain {allowed}"
