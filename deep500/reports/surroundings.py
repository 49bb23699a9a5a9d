"""How and where it was measured: the plan, the environment and the sensors as rows, whatever facts they hold."""

import shlex
from collections.abc import Mapping
from typing import Any

from .contents import Table
from .data import ReportData, Source
from .tables import NOTHING, is_number, percent
from .text import (
    Code,
    Text,
    clean,
    plain,
    shortened,
)

HIGHLIGHTS = (
    "cpu model",
    "logical cpus",
    "physical cores",
    "frequency governor",
    "hypervisor",
    "accelerators",
    "memory size (GiB)",
    "numa nodes",
    "interfaces",
    "c++ compiler",
    "python",
    "blas of numpy",
    "package numpy",
    "kernel",
    "distribution",
    "OMP_NUM_THREADS",
    "cpu quota (CPUs)",
    "cpu affinity",
    "load (1 min)",
    "moment",
    "file system of the working folder",
    "command line",
    "git commit",
    "git changed files",
)
Facts = list[tuple[str, str, str, str]]  # fact, value, source, why it is unknown


def plan(data: ReportData) -> Table:
    """What was varied and how, in words; settings that are not known here are shown as they are."""
    asked = dict(data.plan)
    asked.pop("entries", None)
    asked.pop("about", None)  # has its own place
    rows: list[list[Text]] = [["factors varied", _factors(asked.pop("factors", None))]]
    if len(data.entries) > 1:
        seed = plain(asked.pop("seed", NOTHING))
        rows.append(["order", f"random interleaving in mirrored rounds (ABBA), seed {seed}"])
    for key, (label, words) in _SETTINGS.items():
        if key in asked:
            rows.append([label, words(asked.pop(key))])
    rows += [[clean(key).replace("_", " "), plain(value)] for key, value in asked.items()]
    method = sorted({clean(e["method"]) for e in data.entries if e.get("method")})
    rows += [["intervals by", "; ".join(method)]] if method else []
    rows.append(["procedure", f"version {plain(data.derived.get('procedure', NOTHING))}"])
    return Table(["setting", "value"], rows)


def completeness(data: Source) -> str:
    """How much of the environment is known."""
    facts = [fact for _, found in environment(data) for fact in found]
    known = sum(not unknown for *_, unknown in facts)
    if not facts:
        return "The environment was not recorded."
    return f"{known} of {len(facts)} facts are known ({percent(known / len(facts), 2)})."


def highlights(data: Source) -> Table:
    """Per class of facts: what matters most to timings, how much is known, and what is not."""
    rows: list[list[Text]] = []
    for name, facts in environment(data):
        known = [(fact, value) for fact, value, _, unknown in facts if not unknown]
        shown = [(fact, value) for fact, value in known if fact in HIGHLIGHTS] or known[:3]
        rows.append(
            [
                name,
                f"{len(known)} of {len(facts)}",
                "; ".join(f"{k}: {shortened(v, 70)}" for k, v in shown),
                ", ".join(fact for fact, *_, unknown in facts if unknown) or NOTHING,
            ]
        )
    return Table(["class", "known", "among them", "unknown"], rows)


def environment(data: Source) -> list[tuple[str, Facts]]:
    """The facts by class."""
    classes = data.environment.get("classes")
    if not isinstance(classes, Mapping):
        return []
    return [(clean(name), _facts(facts)) for name, facts in classes.items()]


def sensors(data: ReportData) -> Facts:
    """What the sensors said, or why they could not."""
    return _facts(data.sensors or {})


def provenance(data: Source) -> list[Text]:
    """Where the raw samples lie, their hash, and how to check this report."""
    lines: list[Text] = []
    if data.bundle:
        lines.append(["The raw samples lie in ", Code(clean(data.bundle)), "."])
        lines.append(
            [
                "Every number above can be computed again: ",
                Code(f"d5 verify {shlex.quote(clean(data.bundle))}"),
                ".",
            ]
        )
    else:
        lines.append("The raw samples were not saved: nobody can check these numbers.")
    if data.hash:
        lines.append(["The hash of the bundle is ", Code(clean(data.hash)), "."])
    return lines


def _facts(facts: object) -> Facts:
    if not isinstance(facts, Mapping):
        return [("", plain(facts), "", "")]
    return [_fact(clean(name), fact) for name, fact in facts.items()]


def _fact(name: str, fact: object) -> tuple[str, str, str, str]:
    if not isinstance(fact, Mapping):
        return name, plain(fact), "", "" if fact is not None else "no value"
    source, value = plain(fact.get("source") or ""), fact.get("value")
    if value is None:
        return name, NOTHING, source, plain(fact.get("unavailable") or "no reason given")
    text = ", ".join(map(plain, value)) if isinstance(value, list) else plain(value)
    return name, f"{text} {plain(fact['unit'])}" if fact.get("unit") else text, source, ""


def _factors(factors: object) -> str:
    if not isinstance(factors, Mapping) or not factors:
        return "none but the candidate"
    return "; ".join(
        f"{clean(name)}: {', '.join(map(plain, levels if isinstance(levels, list) else [levels]))}"
        for name, levels in factors.items()
    )


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
    "margin": ("margin", lambda m: f"{percent(m)}: differences up to that count as the same"),
    "level": ("level of intervals", percent),
    "control": ("control", lambda c: "the first candidate was measured twice" if c else "none"),
    "timeout_s": ("time limit of one answer", _duration),
    "clock": ("clock", _clock),
}
