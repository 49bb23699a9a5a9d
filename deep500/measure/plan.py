"""What will be measured, in which order and how often: decided and written down before the first sample."""

import itertools
import math
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypedDict, Unpack

from ..errors import Deep500Error, Refused, unknown
from .candidates import (
    Candidate,
    Command,
    Function,
    InProcess,
    Level,
    Statement,
    candidate,
    check,
)
from .layout import Layout, draw_layout

CONTROL = " (control)"


@dataclass(frozen=True)
class Entry:
    """One candidate at one combination of levels."""

    name: str
    candidate: Candidate
    levels: Mapping[str, Level]
    group: str = ""  # entries of different groups do not share a process
    work: Mapping[str, Any] = field(
        default_factory=dict
    )  # of one call, where it is known: flops, bytes, dtype …

    def to_json(self) -> dict:
        more = {
            "teardown": getattr(self.candidate, "teardown", ""),
            "group": self.group,
            "work": dict(self.work),
        }
        return {
            "name": self.name,
            "kind": self.candidate.kind,
            "text": self.candidate.text,
            "setup": self.candidate.setup,
            "levels": dict(self.levels),
        } | {k: v for k, v in more.items() if v}


@dataclass(frozen=True)
class Plan:
    """Candidates x levels of factors, how precise, how long, and the seed of every random choice."""

    entries: tuple[Entry, ...]
    factors: Mapping[str, Sequence[Level]] = field(default_factory=dict)
    level: float = 0.95
    precision: float = 0.02
    margin: float = 0.02
    budget_s: float = 5.0
    processes: int | None = None
    cache: str = "warm"
    control: bool = False
    timeout_s: float = 15.0  # make_plan: max(10, 3 * budget_s)
    sync: Callable | str | None = None
    seed: int = 0
    user_imports: bool = (
        True  # whether statements may import modules of the current folder
    )
    about: Mapping[str, Any] = field(
        default_factory=dict
    )  # what else belongs to the record: scope, peaks, threads …

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(e.group for e in self.entries))

    @property
    def fresh(self) -> bool:
        """Whether every repetition gets a fresh process of ours; a command brings its own."""
        return all(isinstance(e.candidate, Statement | Function) for e in self.entries)

    @property
    def local(self) -> bool:
        """Whether the candidates live in this process."""
        return all(isinstance(e.candidate, InProcess) for e in self.entries)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """What is compared: every entry with the first candidate at the same levels."""
        first: dict[tuple, int] = {}
        return [
            (first[key], i)
            for i, entry in enumerate(self.entries)
            if first.setdefault(key := tuple(entry.levels.items()), i) != i
        ]

    def orders(self, process: int) -> Iterator[list[int]]:
        """Endless rounds for one process: a random permutation and its mirror (ABBA), so that drift cancels."""
        rng = random.Random(f"{self.seed}/{process}")
        groups = [
            [i for i, e in enumerate(self.entries) if e.group == group]
            for group in self.groups
        ]
        while True:
            for group in groups:
                rng.shuffle(group)
            rng.shuffle(groups)
            indices = [i for group in groups for i in group]
            yield indices + indices[::-1] if len(indices) > 1 else [0]

    def layout(self, process: int) -> Layout:
        """Where things lie in the memory of one process, as far as we can move them."""
        return draw_layout(self.seed, process, len(self.entries))

    def to_json(self) -> dict:
        return {
            "entries": [e.to_json() for e in self.entries],
            "factors": {name: list(levels) for name, levels in self.factors.items()},
            "level": self.level,
            "precision": self.precision,
            "margin": self.margin,
            "budget_s": self.budget_s,
            "processes": self.processes,
            "cache": self.cache,
            "control": self.control,
            "timeout_s": self.timeout_s,
            "synchronised": self.sync is not None,
            "seed": self.seed,
            "layout": "random" if self.fresh else "as it is",
            **({"about": dict(self.about)} if self.about else {}),
        }


class Settings(TypedDict, total=False):
    """Everything that can be asked of a run; the defaults are Plan's."""

    budget_s: float  # seconds of wall time, process starts included
    precision: float  # stop when every interval is within this relative half-width
    processes: int | None  # None: as many as the budget makes sensible
    level: float  # of every interval
    margin: float  # ratios within 1 / (1 + margin) .. 1 + margin count as the same
    setup: str  # runs once per process before the candidates given as text
    factors: Mapping[
        str, Sequence[Level]
    ]  # every candidate is measured at every combination of levels
    sync: (
        Callable | str | None
    )  # waits for a device: a callable, or "module:name" in fresh processes
    cache: str  # "warm", or "cold": caches are driven out before every call
    control: bool  # measure the first candidate twice: a ratio that must be 1
    timeout_s: float | None  # for one answer of a process; None: max(10, 3 * budget_s)
    seed: int | None  # of the order of rounds; None: drawn, and recorded


def make_plan(candidates: Mapping[str, object], **settings: Unpack[Settings]) -> Plan:
    """Check what was asked for and lay it out; nothing is run."""
    if not candidates:
        raise Deep500Error("nothing to measure: give at least one candidate")
    asked: dict[str, Any] = (
        {f.name: f.default for f in fields(Plan)}
        | {"timeout_s": None, "seed": None}
        | settings
    )
    _check_settings(asked, settings)
    named = {
        name: candidate(value, asked.get("setup", ""))
        for name, value in candidates.items()
    }
    if asked["control"]:
        first = next(iter(named))
        if first + CONTROL in named:
            raise Deep500Error(
                f"the name {first + CONTROL!r} is the control's: call that candidate otherwise"
            )
        named[first + CONTROL] = named[first]
    if (asked["processes"] or 1) > 1:
        named = {name: _importable(name, c) for name, c in named.items()}
    if asked["timeout_s"] is None:
        asked["timeout_s"] = max(10.0, 3.0 * asked["budget_s"])
    named = {
        name: replace(c, timeout_s=asked["timeout_s"]) if isinstance(c, Command) else c
        for name, c in named.items()
    }
    for c in named.values():
        check(c)
        _check_engine(c, asked)
    if len({_engine(c) for c in named.values()}) > 1:
        raise Refused(
            "candidates that run in different ways (in this process, in fresh ones, as commands) "
            "are not comparable: give all of them in the same form"
        )
    if asked["seed"] is None:
        asked["seed"] = int.from_bytes(os.urandom(4), "big")
    asked["about"] = {}
    asked["factors"] = {
        name: tuple(levels) for name, levels in (settings.get("factors") or {}).items()
    }
    asked["entries"] = tuple(_entries(named, asked["factors"]))
    return Plan(**{f.name: asked[f.name] for f in fields(Plan)})


def _check_engine(c: Candidate, asked: Mapping[str, Any]) -> None:
    if isinstance(c, Command) and (asked["processes"] or asked["sync"]):
        raise Refused(
            "every call of a command is a fresh process that is waited for: leave processes and sync out"
        )
    if isinstance(c, Statement | Function) and callable(asked["sync"]):
        raise Refused(
            "statements run in fresh processes, which this process's sync cannot reach: give 'module:name'"
        )


def _entries(
    named: Mapping[str, Candidate], factors: Mapping[str, Sequence[Level]]
) -> Iterator[Entry]:
    _check_factors(factors)
    for levels in itertools.product(*factors.values()):
        at = dict(zip(factors, levels, strict=True))
        for name, c in named.items():
            yield Entry(name + suffix(at), c, at)


def suffix(levels: Mapping[str, Level]) -> str:
    """What the levels add to a candidate's name."""
    return "".join(f" {name}={level}" for name, level in levels.items())


def _check_settings(asked: Mapping, given: Mapping) -> None:
    for name in given:
        if name not in Settings.__annotations__:
            raise unknown("setting", name, Settings.__annotations__)
    for name, kind in (("seed", int | None), ("control", bool), ("setup", str)):
        if not isinstance(asked.get(name, ""), kind):
            raise Deep500Error(f"{name} = {asked[name]!r} is not a {kind}")
    allowed = {
        "budget_s": lambda v: 0 < v < math.inf,
        "level": lambda v: 0.5 <= v < 1,
        "precision": lambda v: 0 < v < math.inf,
        "margin": lambda v: 0 <= v < math.inf,
        "processes": lambda v: v is None or 1 <= v <= 10_000,
        "cache": lambda v: v in ("warm", "cold"),
        "timeout_s": lambda v: v is None or 0 < v < math.inf,
    }
    for name, allows in allowed.items():
        if not allows(asked[name]):
            raise Deep500Error(
                f"{name} = {asked[name]!r} makes no sense: {_MEANING[name]}"
            )


_MEANING = {
    "budget_s": "give seconds, more than 0",
    "level": "a level of confidence lies in [0.5, 1), such as 0.95",
    "precision": "a relative half-width such as 0.02",
    "margin": "a relative margin such as 0.02, not negative",
    "processes": "give 1 to 10000, or None to let the budget decide",
    "cache": "choose 'warm' or 'cold'",
    "timeout_s": "give seconds, more than 0",
}


def _check_factors(factors: Mapping[str, Sequence[Level]]) -> None:
    for name, levels in factors.items():
        if not name.isidentifier():
            raise Deep500Error(
                f"the factor {name!r} is not a name: use letters, digits and _"
            )
        if not levels or any(
            not isinstance(v, int | float | str | bool) for v in levels
        ):
            raise Deep500Error(
                f"the factor {name!r} needs levels that are numbers, texts or booleans, got {levels!r}"
            )
        if len({(type(v), v) for v in levels}) < len(levels):
            raise Deep500Error(
                f"the factor {name!r} has a level twice: {', '.join(map(str, levels))}"
            )


def _engine(c: Candidate) -> str:
    return {
        Statement: "fresh",
        Function: "fresh",
        InProcess: "local",
        Command: "command",
    }[type(c)]


def _importable(name: str, c: Candidate) -> Candidate:
    if not isinstance(c, InProcess):
        return c
    module, qualname = (
        getattr(c.target, "__module__", None),
        getattr(c.target, "__qualname__", ""),
    )
    if module in (None, "__main__", "builtins") or "<" in qualname or not qualname:
        raise Refused(
            f"candidate {name!r} lives only in this process: for fresh processes give a statement or "
            "'module:name', or leave processes out"
        )
    return Function(f"{module}:{qualname}")
