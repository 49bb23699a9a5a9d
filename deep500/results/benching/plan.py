"""How it was measured: the plan as a table, whatever settings it holds."""

from collections.abc import Callable, Mapping
from typing import Any

from ...reports.blocks import Table
from ...reports.tables import NOTHING, is_number, percent
from ...reports.text import Text, clean, plain
from .contents import rounded
from .data import ReportData


def plan_table(data: ReportData) -> Table:
    """What was varied and how, in words; settings that are not known here are shown as they are."""
    settings = dict(data.plan)
    settings.pop("entries", None)
    settings.pop("procedure", None)  # said of the derived numbers
    about = settings.pop("about", None)  # the rest of it has its own place
    factors = _factors(settings.pop("factors", None))
    rows: list[list[Text]] = [["factors varied", factors]]
    if len(data.entries) > 1:
        seed = plain(settings.pop("seed", NOTHING))
        order = f"random interleaving in mirrored rounds (ABBA), seed {seed}"
        rows.append(["order", order])
    if "cache" in settings:
        rows.append(["caches", _caches(data, settings.pop("cache"))])
    for key, (label, describe) in _SETTINGS.items():
        if key in settings:
            rows.append([label, describe(settings.pop(key))])
    for key, value in settings.items():
        rows.append([clean(key).replace("_", " "), plain(value)])
    rows += _before_the_run(about)
    methods = {entry.method for entry in data.entries}
    if methods:
        rows.append(["intervals by", "; ".join(sorted(methods))])
    rows.append(["procedure", f"version {data.derived.procedure}"])
    return Table(["setting", "value"], rows, "lt")


def _factors(factors: object) -> str:
    if not isinstance(factors, Mapping) or not factors:
        return "none but the candidate"
    descriptions = []
    for name, levels in factors.items():
        if not isinstance(levels, list):
            levels = [levels]
        listing = ", ".join(map(plain, levels))
        descriptions.append(f"{clean(name)}: {listing}")
    return "; ".join(descriptions)


def _before_the_run(about: object) -> list[list[Text]]:
    """How busy the machine was when the run began, and how long the run waited for a quiet one."""
    moment = about.get("moment") if isinstance(about, Mapping) else None
    if not isinstance(moment, Mapping) or not is_number(moment.get("others")):
        return []
    used = f"others used {rounded(moment['others'])} of the CPUs"
    if not moment.get("asked_s"):
        return [["before the run", used]]
    waited = _duration(moment.get("waited_s"))
    allowed = _duration(moment["asked_s"])
    text = f"waited {waited} of {allowed} allowed for a quiet machine, then {used}"
    return [["before the run", text]]


def _clock(clock: Any) -> str:
    if not isinstance(clock, Mapping):
        return plain(clock)
    parts = [plain(clock.get("name", "unknown"))]
    for name in ("resolution", "overhead"):
        nanoseconds = clock.get(f"{name}_ns")
        if is_number(nanoseconds):
            parts.append(f"{name} {nanoseconds:.4g} ns")
    return ", ".join(parts)


def _duration(x: object) -> str:
    if is_number(x):
        return f"{x:g} s"
    return plain(x)


def _processes(processes: object) -> str:
    if processes is None:
        return "as many as the budget made sensible"
    return plain(processes)


def _caches(data: ReportData, state: object) -> str:
    if state == "cold":
        return "cold: driven out before every call"
    untimed = [entry.untimed for entry in data.entries]
    if state != "warm" or None in untimed:
        return plain(state)
    counts = ", ".join(map(plain, untimed))
    return f"warm: untimed visits of the same entry before every timed one ({counts})"


def _precision(precision: object) -> str:
    return f"±{percent(precision)}"


def _margin(margin: object) -> str:
    return f"{percent(margin)}: differences up to that count as the same"


def _control(control: object) -> str:
    if control:
        return "the first candidate was measured twice"
    return "none"


def _layout(layout: object) -> str:
    if layout == "random":
        return "random in every process: order of setups, environment, heap"
    return plain(layout)


# The settings of a plan: their label, and the function that puts their value into words.
_SETTINGS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "processes": ("processes", _processes),
    "budget_s": ("time budget", _duration),
    "precision": ("precision asked for", _precision),
    "margin": ("margin", _margin),
    "level": ("level of intervals", percent),
    "point": ("estimate of a median", plain),
    "control": ("control", _control),
    "layout": ("place in memory", _layout),
    "timeout_s": ("time limit of one answer", _duration),
    "clock": ("clock", _clock),
}
