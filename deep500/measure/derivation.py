"""From samples to every number that is reported: a pure function, so that `d5 verify` can do it again."""

import math
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Refused, TooFewSamples
from .aftermath import SHARE
from .agreement import disagreement
from .interference import COULD_EXPLAIN
from .plan import PROCEDURE as PROCEDURE
from .rates import rates
from .statistics.comparison import Comparison, more_needed, quantile_differences
from .statistics.drift import drift
from .statistics.estimands import LEVEL as ESTIMANDS_LEVEL
from .statistics.estimands import PAIRED, RatioEstimate
from .statistics.intervals import ONE_PROCESS
from .withholding import deferred

if TYPE_CHECKING:
    from .results import Result


def derive(result: "Result") -> dict:
    """All derived numbers of a run, as they stand in derived.json."""
    settled = result.settled
    more = None if settled else _more(result)
    comparisons = [
        _comparison(result, a, b, c) for a, b, c in result.comparisons
    ]
    derived: dict[str, Any] = {
        "procedure": PROCEDURE,
        "stopped": "precise" if settled else "budget",
        "more": more,
        "status": _status(result, settled, more),
        "entries": [_entry(result, name) for name in result.names],
        "comparisons": comparisons,
        "control": _control(result),
        "notes": _notes(result),
        "measured_s": _measured_seconds(result),
    }
    if result.interference is not None:  # it was recorded
        derived["interference"] = asdict(result.interference)
    return derived


def _measured_seconds(result: "Result") -> float | None:
    """From the first to the last sample: absolute times hold for as long."""
    if not all("span_s" in block for block in result.blocks):
        return None
    first = result.blocks[0]["span_s"][0]
    last = result.blocks[-1]["span_s"][1]
    return round(last - first, 4)


def _entry(result: "Result", name: str) -> dict:
    index = result.index(name)
    planned = result.plan["entries"][index]
    series = [process.seconds[index] for process in result.processes]
    pooled = np.concatenate(series)
    states = [process.states[index] for process in result.processes]
    kinds = Counter(state.kind for state in states)
    usual_kind = kinds.most_common(1)[0][0]
    cut = sum(process.cut for process in result.processes)
    entry = {
        "name": name,
        "levels": planned["levels"],
        "n": len(pooled),
        "processes": len(series),
        "level": result.plan["level"],
        "unit": "s",
        "batch": result.batch(name),
        "warmup": {"kind": usual_kind, "cut": cut},
        "modes": _modes(result, name),
    }
    entry |= _median(result, name, pooled)
    entry |= _circumstances(result, name)
    entry["notes"] += _circumstance_notes(result, name)
    log_rounds = [np.log(process.rounds[index]) for process in result.processes]
    entry |= _drift(result, log_rounds)
    work = planned.get("work")
    if isinstance(work, dict):
        about = dict(result.plan.get("about") or {})
        entry["rates"] = rates(entry, work, about.get("peaks"))
    entry["quantiles"] = [_quantile(result, name, q) for q in (0.9, 0.99)]
    unsteady = kinds["none"]
    if unsteady:
        where = ""
        if len(states) > 1:
            where = f" in {unsteady} of {len(states)} processes"
        entry["notes"].append(
            f"never steady{where}: the times change throughout"
        )
    return entry


def _circumstances(result: "Result", name: str) -> dict:
    """How the candidate ran: untimed visits before a timed one, work after the clock, the effect of the others."""
    index = result.index(name)
    effect = result.neighbours[name]
    first = result.blocks[0]
    return {
        "untimed": first["untimed"][index] if "untimed" in first else None,
        "after": result.after[name],
        "neighbours": asdict(effect) if effect else None,
    }


def _circumstance_notes(result: "Result", name: str) -> list[str]:
    notes = []
    share = result.after[name]
    if share is not None and share > SHARE:
        notes.append(deferred(name, share))
    effect = result.neighbours[name]
    margin = result.plan["margin"]
    if effect and effect.exceeds(margin):
        notes.append(
            f"beside the other candidates it takes {effect.ratio:.4g} × [{effect.low:.4g}, {effect.high:.4g}] "
            f"of its time in a row of its own calls (n = {effect.n}), which is more than the margin"
        )
    return notes


def _modes(result: "Result", name: str) -> list[dict] | None:
    """The modes, or None if there is only one."""
    several = result.modes(name)
    if len(several) == 1:
        return None
    return [asdict(mode) for mode in several]


def _median(result: "Result", name: str, pooled: np.ndarray) -> dict:
    """The median with its interval, or without one and the reason as a note."""
    try:
        middle = result.interval(name)
    except Refused as refusal:
        return {
            "notes": [str(refusal)],
            "median": float(np.median(pooled)),
            "low": None,
            "high": None,
            "method": "none",
        }
    return {
        "notes": list(middle.notes),
        "median": middle.estimate,
        "low": middle.low,
        "high": middle.high,
        "method": middle.method,
    }


def _quantile(result: "Result", name: str, q: float) -> dict:
    try:
        interval = result.interval(name, q)
    except Refused as refusal:
        return {"q": q, "refused": str(refusal)}
    return {
        "q": q,
        "value": interval.estimate,
        "low": interval.low,
        "high": interval.high,
    }


def _comparison(
    result: "Result", a: str, b: str, c: Comparison | TooFewSamples
) -> dict:
    if isinstance(c, TooFewSamples):
        return {
            "base": a,
            "other": b,
            "ratio": None,
            "low": None,
            "high": None,
            "level": result.plan["level"],
            "margin": result.plan["margin"],
            "verdict": "inconclusive",
            "n": 0,
            "quantiles": [],
            "notes": [str(c)],
        }
    comparison = {
        "base": a,
        "other": b,
        "ratio": c.ratio,
        "low": c.low,
        "high": c.high,
        "level": result.plan["level"],
        "margin": c.margin,
        "verdict": c.verdict,
        "n": c.n,
        "processes": c.processes,
        "method": c.method,
        "shift": c.effect.shift,
        "probability": c.effect.probability,
        "quantiles": _quantile_differences(result, a, b),
        "notes": list(c.notes),
        **_estimands(result, a, b),
        "withheld": c.withheld,
    }
    return comparison | _drift(result, _log_ratios(result, a, b))


def _estimands(result: "Result", a: str, b: str) -> dict:
    """What the ratio is, and the ratios of medians and of means beside it."""
    medians, means = result.estimates(a, b)
    return {
        "estimand": f"{PAIRED} of {_values(result, a, b)}",
        "of_medians": _ratio(medians),
        "of_means": _ratio(means),
    }


def _values(result: "Result", a: str, b: str) -> str:
    """What one value of either side is."""
    batches = [result.batch(a), result.batch(b)]
    if batches == [1, 1]:
        return "single calls"
    if batches[0] == batches[1]:
        return f"means of {batches[0]} calls"
    described = []
    for batch in reversed(batches):
        described.append(f"means of {batch}" if batch > 1 else "single")
    return f"{described[0]} calls to {described[1]} calls"


def _ratio(estimate: RatioEstimate) -> dict:
    return asdict(estimate) | {"level": ESTIMANDS_LEVEL}


def _quantile_differences(result: "Result", a: str, b: str) -> list[dict]:
    """The ratio b / a quantile by quantile; none where calls were timed in batches."""
    if result.batch(a) > 1 or result.batch(b) > 1:
        return []
    differences = quantile_differences(
        result.samples(a), result.samples(b), level=result.looked_level
    )
    documents = []
    for difference in differences:
        fields = asdict(difference).items()
        present = {key: value for key, value in fields if value is not None}
        documents.append(present)
    return documents


def _log_ratios(result: "Result", a: str, b: str) -> list[np.ndarray]:
    i = result.index(a)
    j = result.index(b)
    ratios = []
    for process in result.processes:
        base = np.log(process.rounds[i])
        other = np.log(process.rounds[j])
        ratios.append(other - base)
    return ratios


def _drift(result: "Result", logs: list[np.ndarray]) -> dict:
    """The change over the run, where the blocks say when they were measured and there are enough of them."""
    if not all("span_s" in block for block in result.blocks):
        return {}
    change = drift(logs, result.plan["level"], dependent=True)
    if change is None:
        return {}
    return {"drift": asdict(change)}


def _control(result: "Result") -> dict | None:
    for a, b in result.pairs:
        if not result.is_control(b):
            continue
        try:
            c = result.compare(a, b)
        except TooFewSamples:
            return None
        return {
            "base": a,
            "ratio": c.ratio,
            "low": c.low,
            "high": c.high,
            "verdict": c.verdict,
            "n": c.n,
        }
    return None


def _notes(result: "Result") -> list[str]:
    notes = []
    if len(result.processes) == 1 and not result.each_call_is_a_process:
        notes.append(ONE_PROCESS)
    clocks_differ = disagreement(result.blocks, result.bare, result.one_group)
    if clocks_differ:
        notes.append(clocks_differ)
    control = _control(result)
    if control and control["verdict"] in ("slower", "faster"):
        notes.append(
            f"the control differs from itself ({control['verdict']}): do not trust verdicts of this run"
        )
    return notes


def _more(result: "Result") -> int | None:
    """About how many more samples would settle everything; None where that cannot be said."""
    precision = result.plan["precision"]
    needed = []
    try:
        if not result.comparisons:
            for name in result.names:
                needed.append(more_needed(result.interval(name), precision))
        for _, _, c in result.comparisons:
            if isinstance(c, TooFewSamples):
                return None
            # a verdict needs an interval clear of the margin
            log_ratio = abs(math.log(c.ratio))
            to_margin = abs(log_ratio - math.log1p(c.margin))
            narrow = min(precision, math.expm1(to_margin))
            needed.append(more_needed(c, max(1e-3, narrow)))
    except Refused:
        return None
    return max(needed)


def _status(result: "Result", settled: bool, more: int | None) -> str:
    percent = 100 * result.plan["precision"]
    precision = f"±{percent:.3g} %"
    some_withheld = any(_is_withheld(c) for _, _, c in result.comparisons)
    if settled and some_withheld:
        return f"every ratio is known within {precision}; the notes say why some have no verdict"
    if settled:
        subject = "ratio has a verdict and" if result.comparisons else "median"
        return f"every {subject} is known within {precision}"
    if _withdrawn(result) and result.interference:
        percent = 100 * result.interference.others
        used = f"others used {percent:.0f} % of the CPUs"
        return f"inconclusive, because {used}: wait, or give --wait-for-quiet SECONDS"
    if some_withheld:
        return "no verdict where the notes give a reason, which more samples would not remove"
    unit = "processes" if len(result.processes) > 1 else "samples"
    all_have_verdicts = all(_has_verdict(c) for _, _, c in result.comparisons)
    if result.comparisons and all_have_verdicts:
        return f"every ratio has a verdict; about {more} more {unit} would narrow all of them to {precision}"
    if more:
        return f"inconclusive, about {more} more {unit} needed"
    return f"inconclusive, too few {unit} to say how many"


def _has_verdict(c: Comparison | TooFewSamples) -> bool:
    return isinstance(c, Comparison) and c.verdict != "inconclusive"


def _is_withheld(c: Comparison | TooFewSamples) -> bool:
    return isinstance(c, Comparison) and c.withheld


def _withdrawn(result: "Result") -> bool:
    """Whether a verdict was withdrawn because of what others used."""
    for _, _, c in result.comparisons:
        notes = c.notes if isinstance(c, Comparison) else ()
        if any(COULD_EXPLAIN in note for note in notes):
            return True
    return False
