"""How it was measured: the plan as a table, whatever settings it holds."""

from collections.abc import Mapping
from typing import Any

from ...reports.blocks import Table
from ...reports.tables import NOTHING, is_number, percent
from ...reports.text import Text, clean, plain
from .contents import rounded
from .data import ReportData


def plan_table(data: ReportData) -> Table:
    """What was varied and how, in words; settings that are not known here are shown as they are."""
    asked = dict(data.plan)
    asked.pop("entries", None)
    about = asked.pop("about", None)  # the rest of it has its own place
    rows: list[list[Text]] = [["factors varied", _factors(asked.pop("factors", None))]]
    if len(data.entries) > 1:
        seed = plain(asked.pop("seed", NOTHING))
        rows.append(
            ["order", f"random interleaving in mirrored rounds (ABBA), seed {seed}"]
        )
    for key, (label, words) in _SETTINGS.items():
        if key in asked:
            rows.append([label, words(asked.pop(key))])
    rows += [
        [clean(key).replace("_", " "), plain(value)] for key, value in asked.items()
    ]
    rows += _moment(about)
    method = sorted({clean(e["method"]) for e in data.entries if e.get("method")})
    rows += [["intervals by", "; ".join(method)]] if method else []
    rows.append(
        ["procedure", f"version {plain(data.derived.get('procedure', NOTHING))}"]
    )
    return Table(["setting", "value"], rows, "lt")


def _factors(factors: object) -> str:
    if not isinstance(factors, Mapping) or not factors:
        return "none but the candidate"
    return "; ".join(
        f"{clean(name)}: {', '.join(map(plain, levels if isinstance(levels, list) else [levels]))}"
        for name, levels in factors.items()
    )


def _moment(about: object) -> list[list[Text]]:
    """What the run found when it began."""
    moment = about.get("moment") if isinstance(about, Mapping) else None
    if not isinstance(moment, Mapping) or not is_number(moment.get("others")):
        return []
    used = f"others used {rounded(moment['others'])} of the CPUs"
    if not moment.get("asked_s"):
        return [["before the run", used]]
    waited = (
        f"{_duration(moment.get('waited_s'))} of {_duration(moment['asked_s'])} allowed"
    )
    return [["before the run", f"waited {waited} for a quiet machine, then {used}"]]


def _clock(clock: Any) -> str:
    if not isinstance(clock, Mapping):
        return plain(clock)
    times = [
        f"{what} {clock[key]:.4g} ns"
        for what, key in (("resolution", "resolution_ns"), ("overhead", "overhead_ns"))
        if is_number(clock.get(key))
    ]
    return ", ".join([plain(clock.get("name", "unknown")), *times])


def _duration(x: object) -> str:
    return f"{x:g} s" if is_number(x) else plain(x)


_SETTINGS = {
    "processes": (
        "processes",
        lambda n: "as many as the budget made sensible" if n is None else plain(n),
    ),
    "cache": (
        "caches",
        lambda c: "cold: driven out before every call" if c == "cold" else plain(c),
    ),
    "budget_s": ("time budget", _duration),
    "precision": ("precision asked for", lambda p: f"±{percent(p)}"),
    "margin": (
        "margin",
        lambda m: f"{percent(m)}: differences up to that count as the same",
    ),
    "level": ("level of intervals", percent),
    "control": (
        "control",
        lambda c: "the first candidate was measured twice" if c else "none",
    ),
    "layout": (
        "place in memory",
        lambda p: (
            "random in every process: order of setups, environment, heap"
            if p == "random"
            else plain(p)
        ),
    ),
    "timeout_s": ("time limit of one answer", _duration),
    "clock": ("clock", _clock),
}
