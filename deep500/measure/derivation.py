"""From samples to every number that is reported: a pure function, so that `d5 verify` can do it again."""

import math
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from ..errors import Refused, TooFewSamples
from .agreement import disagreement
from .interference import COULD_EXPLAIN
from .rates import rates
from .statistics.comparison import Comparison, more_needed, quantile_differences
from .statistics.drift import drift
from .statistics.intervals import ONE_PROCESS
from .statistics.modality import modes

if TYPE_CHECKING:
    from .results import Result

PROCEDURE = 1  # counts up when the same samples would give other numbers


def derive(result: "Result") -> dict:
    """All derived numbers of a run, as they stand in derived.json."""
    settled = result.settled
    more = None if settled else _more(result)
    return {
        "procedure": PROCEDURE,
        "stopped": "precise" if settled else "budget",
        "more": more,
        "status": _status(result, settled, more),
        "entries": [_entry(result, name) for name in result.names],
        "comparisons": [_comparison(result, a, b, c) for a, b, c in result.comparisons],
        "control": _control(result),
        "notes": _notes(result),
        **_interference(result),
    }


def _interference(result: "Result") -> dict:
    """Of runs that recorded it."""
    found = result.interference
    return {} if found is None else {"interference": asdict(found)}


def _entry(result: "Result", name: str) -> dict:
    index = result.index(name)
    series = [p.seconds[index] for p in result.processes]
    found = modes(np.concatenate(series), result.plan["precision"])
    states = [p.states[index] for p in result.processes]
    kind = Counter(s.kind for s in states).most_common(1)[0][0]
    entry = {
        "name": name,
        "levels": result.plan["entries"][index]["levels"],
        "n": sum(map(len, series)),
        "processes": len(series),
        "level": result.plan["level"],
        "unit": "s",
        "batch": result.batch(name),
        "warmup": {"kind": kind, "cut": sum(p.cut for p in result.processes)},
        "modes": [asdict(m) for m in found] if len(found) > 1 else None,
        "notes": [],
    }
    try:
        middle = result.interval(name)
        entry |= {
            "median": middle.estimate,
            "low": middle.low,
            "high": middle.high,
            "method": middle.method,
        }
        entry["notes"] = list(middle.notes)
    except Refused as refusal:
        entry |= {
            "median": float(np.median(np.concatenate(series))),
            "low": None,
            "high": None,
            "method": "none",
        }
        entry["notes"] = [str(refusal)]
    entry |= _drift(result, [np.log(p.rounds[index]) for p in result.processes])
    if isinstance(work := result.plan["entries"][index].get("work"), dict):
        entry["rates"] = rates(
            entry, work, dict(result.plan.get("about") or {}).get("peaks")
        )
    entry["quantiles"] = [_quantile(result, name, q) for q in (0.9, 0.99)]
    if unsteady := sum(s.kind == "none" for s in states):
        where = f" in {unsteady} of {len(states)} processes" if len(states) > 1 else ""
        entry["notes"].append(f"never steady{where}: the times change throughout")
    return entry


def _quantile(result: "Result", name: str, q: float) -> dict:
    try:
        found = result.interval(name, q)
        return {"q": q, "value": found.estimate, "low": found.low, "high": found.high}
    except Refused as refusal:
        return {"q": q, "refused": str(refusal)}


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
    differences = (
        []
        if max(result.batch(a), result.batch(b)) > 1
        else [
            {k: v for k, v in asdict(d).items() if v is not None}
            for d in quantile_differences(
                result.samples(a), result.samples(b), level=result.looked_level
            )
        ]
    )
    return {
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
        "quantiles": differences,
        "notes": list(c.notes),
        **_drift(result, _log_ratios(result, a, b)),
    }


def _log_ratios(result: "Result", a: str, b: str) -> list[np.ndarray]:
    i, j = result.index(a), result.index(b)
    return [np.log(p.rounds[j]) - np.log(p.rounds[i]) for p in result.processes]


def _drift(result: "Result", logs: list[np.ndarray]) -> dict:
    """The change over the run, where the blocks say when they were measured and there are enough of them."""
    if not all("span_s" in block for block in result.blocks):
        return {}
    found = drift(logs, result.plan["level"])
    return {} if found is None else {"drift": asdict(found)}


def _control(result: "Result") -> dict | None:
    for a, b in result.pairs:
        if result.is_control(b):
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
    notes = (
        [ONE_PROCESS]
        if len(result.processes) == 1 and not result.each_call_is_a_process
        else []
    )
    if said := disagreement(result.blocks, result.bare, result.one_group):
        notes.append(said)
    control = _control(result)
    if control and control["verdict"] in ("slower", "faster"):
        notes.append(
            f"the control differs from itself ({control['verdict']}): do not trust verdicts of this run"
        )
    return notes


def _more(result: "Result") -> int | None:
    """About how many more samples would settle everything; None where that cannot be said."""
    precision = result.plan["precision"]
    try:
        if not result.comparisons:
            return max(
                more_needed(result.interval(name), precision) for name in result.names
            )
        needed = []
        for _, _, c in result.comparisons:
            if isinstance(c, TooFewSamples):
                return None
            edge = abs(
                abs(math.log(c.ratio)) - math.log1p(c.margin)
            )  # a verdict needs an interval clear of the margin
            needed.append(more_needed(c, max(1e-3, min(precision, math.expm1(edge)))))
        return max(needed)
    except Refused:
        return None


def _status(result: "Result", settled: bool, more: int | None) -> str:
    if settled:
        what = "ratio has a verdict and" if result.comparisons else "median"
        return f"every {what} is known within ±{100 * result.plan['precision']:.3g} %"
    if _withdrawn(result) and result.interference:
        used = f"others used {100 * result.interference.others:.0f} % of the CPUs"
        return f"inconclusive, because {used}: wait, or give --wait-for-quiet SECONDS"
    unit = "processes" if len(result.processes) > 1 else "samples"
    if result.comparisons and all(
        isinstance(c, Comparison) and c.verdict != "inconclusive"
        for _, _, c in result.comparisons
    ):
        width = f"±{100 * result.plan['precision']:.3g} %"
        return f"every ratio has a verdict; about {more} more {unit} would narrow all of them to {width}"
    return "inconclusive, " + (
        f"about {more} more {unit} needed"
        if more
        else f"too few {unit} to say how many"
    )


def _withdrawn(result: "Result") -> bool:
    """Whether a verdict was withdrawn because of what others used."""
    for _, _, c in result.comparisons:
        if isinstance(c, Comparison) and any(COULD_EXPLAIN in note for note in c.notes):
            return True
    return False
