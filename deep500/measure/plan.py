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
    OURS,
    Candidate,
    Command,
    DataCandidate,
    Function,
    InProcess,
    Level,
    candidate,
    check,
    is_ours,
)
from .layout import MemoryLayout, draw_layout

CONTROL = " (control)"
PROCEDURE = 3  # counts up when the same samples would give other numbers
POINT = "median of the processes' medians"  # what a point estimate is


@dataclass(frozen=True)
class PlanEntry:
    """One candidate at one combination of levels."""

    name: str
    candidate: Candidate
    levels: Mapping[str, Level]
    group: str = ""  # entries of different groups do not share a process
    # work of one call, where it is known: flops, bytes, dtype …
    work: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict:
        document = {
            "name": self.name,
            "kind": self.candidate.kind,
            "text": self.candidate.text,
            "setup": self.candidate.setup,
            "levels": dict(self.levels),
        }
        optional = {
            "job": _job(self.candidate),
            "group": self.group,
            "work": dict(self.work),
        }
        for key, value in optional.items():
            if value:
                document[key] = value
        return document


def _job(candidate: Candidate) -> dict[str, Any]:
    return candidate.to_json() if isinstance(candidate, DataCandidate) else {}


@dataclass(frozen=True)
class Plan:
    """Candidates x levels of factors, how precise, how long, and the seed of every random choice."""

    entries: tuple[PlanEntry, ...]
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
    # whether statements may import modules of the current folder
    user_imports: bool = True
    # what else belongs to the record: scope, peaks, threads …
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def groups(self) -> list[str]:
        names = [entry.group for entry in self.entries]
        return list(dict.fromkeys(names))

    @property
    def fresh(self) -> bool:
        """Whether every repetition runs in a fresh Python process; a command is a process of its own."""
        return all(entry.candidate.engine == "fresh" for entry in self.entries)

    @property
    def local(self) -> bool:
        """Whether the candidates live in this process."""
        return all(entry.candidate.engine == "local" for entry in self.entries)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """What is compared: every entry with the first candidate at the same levels."""
        first_at: dict[tuple, int] = {}
        pairs = []
        for i, entry in enumerate(self.entries):
            levels = tuple(entry.levels.items())
            first = first_at.setdefault(levels, i)
            if first != i:
                pairs.append((first, i))
        return pairs

    def orders(self, process: int) -> Iterator[list[int]]:
        """Endless rounds for one process: a random permutation and its mirror (ABBA), so that drift cancels."""
        rng = random.Random(f"{self.seed}/{process}")
        members: dict[str, list[int]] = {group: [] for group in self.groups}
        for i, entry in enumerate(self.entries):
            members[entry.group].append(i)
        groups = list(members.values())
        while True:
            for group in groups:
                rng.shuffle(group)
            rng.shuffle(groups)
            indices = list(itertools.chain.from_iterable(groups))
            if len(indices) > 1:
                yield indices + indices[::-1]
            else:
                yield [0]

    def layout(self, process: int) -> MemoryLayout:
        """The random placement of data in the memory of one process."""
        return draw_layout(self.seed, process, len(self.entries))

    def to_json(self) -> dict:
        factors = {name: list(levels) for name, levels in self.factors.items()}
        document = {
            "entries": [entry.to_json() for entry in self.entries],
            "factors": factors,
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
            "point": POINT,
        }
        if self.about:
            document["about"] = dict(self.about)
        return document


class Settings(TypedDict, total=False):
    """Everything that can be asked of a run; the defaults are Plan's."""

    budget_s: float  # seconds of wall time, process starts included
    # stop when every interval is within this relative half-width
    precision: float
    processes: int | None  # None: as many as the budget makes sensible
    level: float  # of every interval
    # ratios within 1 / (1 + margin) .. 1 + margin count as the same
    margin: float
    setup: str  # runs once per process before the candidates given as text
    # every candidate is measured at every combination of levels
    factors: Mapping[str, Sequence[Level]]
    # waits for a device: a callable, or "module:name" in fresh processes
    sync: Callable | str | None
    cache: str  # "warm", or "cold": caches are driven out before every call
    control: bool  # measure the first candidate twice: a ratio that must be 1
    # for one answer of a process; None: max(10, 3 * budget_s)
    timeout_s: float | None
    seed: int | None  # of the order of rounds; None: drawn, and recorded


def make_plan(candidates: Mapping[str, object], **settings: Unpack[Settings]) -> Plan:
    """The plan of a run; raises a Deep500Error for settings or candidates that make no sense. Nothing is run."""
    if not candidates:
        raise Deep500Error("nothing to measure: give at least one candidate")
    asked = complete_settings(settings)
    named = _named_candidates(candidates, asked)
    _check_candidates(named, asked)
    factors = settings.get("factors") or {}
    factors = {name: tuple(levels) for name, levels in factors.items()}
    return plan_of([*_entries(named, factors)], factors, asked)


def complete_settings(settings: Settings) -> dict[str, Any]:
    """The settings with the defaults of those that are not given; raises a Deep500Error if one makes no sense."""
    asked: dict[str, Any] = {"timeout_s": None, "seed": None}
    for setting in fields(Plan):
        asked.setdefault(setting.name, setting.default)
    asked |= settings
    _check_settings(asked, settings)
    if asked["timeout_s"] is None:
        asked["timeout_s"] = max(10.0, 3.0 * asked["budget_s"])
    if asked["seed"] is None:
        asked["seed"] = int.from_bytes(os.urandom(4), "big")
    return asked


def plan_of(
    entries: Sequence[PlanEntry],
    factors: Mapping[str, Sequence[Level]],
    asked: Mapping[str, Any],
) -> Plan:
    """The plan of these entries with settings that are complete."""
    names = {setting.name for setting in fields(Plan)}
    settings = {name: asked[name] for name in names & asked.keys()}
    settings |= {"entries": tuple(entries), "factors": factors, "about": {}}
    return Plan(**settings)


def _named_candidates(
    candidates: Mapping[str, object], asked: Mapping[str, Any]
) -> dict[str, Candidate]:
    """The candidates by name, with the control if there is to be one, in the form in which they will run."""
    setup = asked.get("setup", "")
    named = {name: candidate(value, setup) for name, value in candidates.items()}
    if asked["control"]:
        first = next(iter(named))
        control = first + CONTROL
        if control in named:
            raise Deep500Error(
                f"the name {control!r} is the control's: call that candidate otherwise"
            )
        named[control] = named[first]
    several_processes = (asked["processes"] or 1) > 1
    for name, value in named.items():
        if several_processes and isinstance(value, InProcess):
            named[name] = _importable(name, value)
        elif isinstance(value, Command):
            named[name] = replace(value, timeout_s=asked["timeout_s"])
    return named


def _check_candidates(named: dict[str, Candidate], asked: Mapping[str, Any]) -> None:
    for value in named.values():
        check(value)
        _check_engine(value, asked)
    engines = {value.engine for value in named.values()}
    if len(engines) > 1:
        raise Refused(
            "candidates that run in different ways (in this process, in fresh ones, as commands) "
            "are not comparable: give all of them in the same form"
        )


def _check_engine(value: Candidate, asked: Mapping[str, Any]) -> None:
    sync = asked["sync"]
    if isinstance(value, Command) and (asked["processes"] or sync):
        raise Refused(
            "every call of a command is a fresh process that is waited for: leave processes and sync out"
        )
    if value.engine == "fresh" and callable(sync):
        raise Refused(
            "statements run in fresh processes, which this process's sync cannot reach: give 'module:name'"
        )


def _entries(
    named: Mapping[str, Candidate], factors: Mapping[str, Sequence[Level]]
) -> Iterator[PlanEntry]:
    _check_factors(factors)
    for combination in itertools.product(*factors.values()):
        levels = dict(zip(factors, combination, strict=True))
        for name, value in named.items():
            yield PlanEntry(name + level_suffix(levels), value, levels)


def level_suffix(levels: Mapping[str, Level]) -> str:
    """What the levels add to a candidate's name."""
    parts = [f" {name}={level}" for name, level in levels.items()]
    return "".join(parts)


def _check_settings(asked: Mapping, settings: Mapping) -> None:
    for name in settings:
        if name not in Settings.__annotations__:
            raise unknown("setting", name, Settings.__annotations__)
    for name, kind in (("seed", int | None), ("control", bool), ("setup", str)):
        if not isinstance(asked.get(name, ""), kind):
            raise Deep500Error(f"{name} = {asked[name]!r} is not a {kind}")
    for name, is_allowed in _ALLOWED.items():
        if not is_allowed(asked[name]):
            raise Deep500Error(
                f"{name} = {asked[name]!r} makes no sense: {_MEANING[name]}"
            )


_ALLOWED: dict[str, Callable[[Any], bool]] = {
    "budget_s": lambda seconds: 0 < seconds < math.inf,
    "level": lambda level: 0.5 <= level < 1,
    "precision": lambda precision: 0 < precision < math.inf,
    "margin": lambda margin: 0 <= margin < math.inf,
    "processes": lambda count: count is None or 1 <= count <= 10_000,
    "cache": lambda state: state in ("warm", "cold"),
    "timeout_s": lambda seconds: seconds is None or 0 < seconds < math.inf,
}


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
        if not name.isidentifier() or is_ours(name):
            raise Deep500Error(
                f"the factor {name!r} is not a name: use letters, digits and _, but no {OURS} at the beginning"
            )
        if not levels or not all(
            isinstance(level, int | float | str | bool) for level in levels
        ):
            raise Deep500Error(
                f"the factor {name!r} needs levels that are numbers, texts or booleans, got {levels!r}"
            )
        distinct = {(type(level), level) for level in levels}
        if len(distinct) < len(levels):
            listed = ", ".join(map(str, levels))
            raise Deep500Error(f"the factor {name!r} has a level twice: {listed}")


def _importable(name: str, value: InProcess) -> Function:
    """The same function by its importable name; refused for one that a fresh process could not import."""
    module = getattr(value.target, "__module__", None)
    qualname = getattr(value.target, "__qualname__", "")
    has_module = module not in (None, "__main__", "builtins")
    has_name = qualname and "<" not in qualname
    if not has_module or not has_name:
        raise Refused(
            f"candidate {name!r} lives only in this process: for fresh processes give a statement or "
            "'module:name', or leave processes out"
        )
    return Function(f"{module}:{qualname}")
