"""How it was measured: the plan as a table, whatever settings it holds."""

from ...measure.bench_plan import BenchPlan
from ...measure.clock import Clock
from ...reports.blocks import Table
from ...reports.tables import percent
from ...reports.text import Text, clean, plain
from .contents import rounded
from .data import ReportData


def plan_table(data: ReportData) -> Table:
    """What was varied and how, in words; settings that are not known here are shown as they are."""
    plan = data.plan
    rows: list[list[Text]] = [["factors varied", _factors(plan)]]
    if len(data.entries) > 1:
        order = f"random interleaving in mirrored rounds (ABBA), seed {plan.seed}"
        rows.append(["order", order])
    rows.append(["caches", _caches(data)])
    for label, text in _settings(plan).items():
        if text:
            rows.append([label, text])
    if len(data.entries) == 1:
        rows.append(["seed", str(plan.seed)])
    rows.append(["synchronised", plain(plan.synchronised)])
    for key, value in plan.more.items():
        if key != "procedure":  # said of the derived numbers
            rows.append([clean(key).replace("_", " "), plain(value)])
    for device, mhz in plan.about.locked_clocks.items():
        rows.append([f"clock of {clean(device)}", f"locked at {mhz} MHz"])
    rows += _before_the_run(plan)
    methods = {entry.method for entry in data.entries}
    if methods:
        rows.append(["intervals by", "; ".join(sorted(methods))])
    rows.append(["procedure", f"version {data.derived.procedure}"])
    return Table(["setting", "value"], rows, "lt")


def _settings(plan: BenchPlan) -> dict[str, str]:
    """The settings in words; empty for one that version 0.1.0 did not write."""
    processes = "as many as the budget made sensible"
    if plan.processes is not None:
        processes = str(plan.processes)
    layout = plain(plan.layout or "")
    if plan.layout == "random":
        layout = "random in every process: order of setups, environment, heap"
    margin = percent(plan.margin)
    return {
        "processes": processes,
        "time budget": f"{plan.budget_s:g} s",
        "precision asked for": f"±{percent(plan.precision)}",
        "margin": f"{margin}: differences up to that count as the same",
        "level of intervals": percent(plan.level),
        "estimate of a median": plain(plan.point or ""),
        "control": _control(plan),
        "place in memory": layout,
        "time limit of one answer": f"{plan.timeout_s:g} s",
        "clock": _clock(plan.clock) if plan.clock else "",
    }


def _control(plan: BenchPlan) -> str:
    return "the first candidate was measured twice" if plan.control else "none"


def _factors(plan: BenchPlan) -> str:
    if not plan.factors:
        return "none but the candidate"
    descriptions = []
    for name, levels in plan.factors.items():
        several = levels if isinstance(levels, list) else [levels]
        listing = ", ".join(map(plain, several))
        descriptions.append(f"{clean(name)}: {listing}")
    return "; ".join(descriptions)


def _before_the_run(plan: BenchPlan) -> list[list[Text]]:
    """How busy the machine was when the run began, and how long the run waited for a quiet one."""
    moment = plan.about.moment
    if moment is None or moment.others is None:
        return []
    used = f"others used {rounded(moment.others)} of the CPUs"
    if not moment.asked_s:
        return [["before the run", used]]
    waited = f"waited {moment.waited_s:g} s of {moment.asked_s:g} s allowed"
    return [["before the run", f"{waited} for a quiet machine, then {used}"]]


def _clock(clock: Clock) -> str:
    resolution = f"resolution {clock.resolution_ns:.4g} ns"
    overhead = f"overhead {clock.overhead_ns:.4g} ns"
    return f"{clean(clock.name)}, {resolution}, {overhead}"


def _caches(data: ReportData) -> str:
    state = data.plan.cache
    if state == "cold":
        return "cold: driven out before every call"
    untimed = [entry.untimed for entry in data.entries]
    if state != "warm" or None in untimed:
        return clean(state)
    counts = ", ".join(map(plain, untimed))
    return f"warm: untimed visits of the same entry before every timed one ({counts})"
