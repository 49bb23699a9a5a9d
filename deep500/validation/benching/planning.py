"""From jobs to a plan: what can be timed is tried first, what cannot is written down with its reason."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Unpack

from ...contracts.framework import ITS_OWN
from ...errors import Deep500Error, Wrong
from ...frameworks import framework
from ...measure.bounds.roofline import peaks
from ...measure.candidates import Statement
from ...measure.machine.host.files import Host
from ...measure.machine.host.memory import memory_available
from ...measure.plan import (
    Entry,
    Plan,
    Settings,
    make_plan,
)
from ..isolation import Died, isolated
from .jobs import (
    DIRECTIONS,
    Job,
    Problem,
    check_dtype,
)

Says = Callable[[str], None]
TRIAL = f"{__package__}.trial:attempt"
IMPORTS = (
    f"from {__package__}.jobs import Job\nfrom {__package__}.subject import Subject\n"
)


@dataclass(frozen=True)
class Factors:
    """What is combined with every problem."""

    dtypes: Sequence[str] = ("float32",)
    frameworks: Sequence[str] = ("pytorch",)
    kernels: Sequence[str] = ("",)
    directions: Sequence[str] = ("forward",)
    threads: int = 0
    reference: str = (
        ""  # a function that computes the same as a user's operator, as FILE:NAME
    )

    def __post_init__(self) -> None:
        for dtype in self.dtypes:
            check_dtype(dtype)
        for name in self.frameworks:
            framework(name).dtype(
                self.dtypes[0]
            )  # an unknown name is said before anything is done
        if wrong := set(self.directions) - set(DIRECTIONS):
            raise Deep500Error(
                f"no direction is named {wrong.pop()!r}: choose {' or '.join(DIRECTIONS)}"
            )


@dataclass(frozen=True)
class Trial:
    """A job and what came of it."""

    problem: Problem
    job: Job
    found: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        return self.found["state"] == "ok"

    @property
    def levels(self) -> dict[str, str]:
        return {
            "problem": self.problem.label,
            "dtype": self.job.dtype,
            "direction": self.job.direction,
        }

    @property
    def candidate(self) -> str:
        return f"{self.job.framework} {self.found.get('kernel') or self.job.kernel or 'its own choice'}"

    @property
    def name(self) -> str:
        return " ".join([self.candidate, *self.levels.values()])


def operator_plan(
    problems: Sequence[Problem],
    over: Factors,
    scope: str = "",
    says: Says = lambda text: None,
    **settings: Unpack[Settings],
) -> Plan:
    """Try every combination, and plan those that give right results."""
    timeout_s = (
        max(120.0, 3 * settings.get("budget_s", 5.0))
        if settings.get("timeout_s") is None
        else float(settings["timeout_s"] or 0)
    )
    settings["timeout_s"] = timeout_s
    base = make_plan(
        {"an operator": Statement("pass")}, **settings
    )  # checks the settings before anything runs
    began = time.monotonic()
    tried = _distinct(_trials(problems, over, timeout_s, says))
    started = (
        time.monotonic() - began
    )  # about what the first processes will need before their first sample
    good = [t for t in tried if t.ok]
    wrong = {t.name: t.found["text"] for t in tried if t.found["state"] == "wrong"}
    if not good:
        reasons = list(dict.fromkeys(t.found["text"] for t in tried))
        more = f" (and {len(reasons) - 1} more reasons)" if len(reasons) > 1 else ""
        raise (Wrong if wrong else Deep500Error)(
            next(iter(wrong.values()), reasons[0]) + more
        )
    _check_memory(good)
    says("the peaks of this machine")
    left_out = {
        t.name: t.found["text"] for t in tried if t.found["state"] == "unsupported"
    }
    about = {
        "peaks": peaks().to_json(),
        "wrong": wrong,
        "left_out": left_out,
        "threads": _threads(over),
        "inputs": "the same in every call; overwritten with others for the check after the timing",
        **({"scope": scope} if scope else {}),
    }
    varied = {
        name: list(dict.fromkeys(t.levels[name] for t in good))
        for name in ("problem", "dtype", "direction")
    }
    return replace(
        base,
        budget_s=base.budget_s + started,
        entries=tuple(map(_entry, good)),
        factors=varied,
        user_imports=False,
        about=about,
    )


def _threads(over: Factors) -> int | str:
    """How many threads every framework computed with, as the report says it."""
    if not over.threads:
        return "each framework's choice"
    choosing = [name for name in over.frameworks if not framework(name).sets_threads]
    if not choosing:
        return over.threads
    return f"{over.threads}; {ITS_OWN} on {', '.join(choosing)}"


def _trials(
    problems: Sequence[Problem], factors: Factors, timeout_s: float, says: Says
) -> list[Trial]:
    """One child process per framework; if it dies, one per job, so that only the guilty one is left out."""
    found: list[Trial] = []
    for name in factors.frameworks:
        asked = [
            (
                p,
                Job(
                    p.operator,
                    p.attributes,
                    p.shape,
                    dtype,
                    name,
                    kernel,
                    direction,
                    factors.threads,
                    factors.reference,
                ),
            )
            for p, dtype, direction, kernel in product(
                problems, factors.dtypes, factors.directions, factors.kernels
            )
        ]
        says(f"checking {len(asked)} on {name}")
        jobs = [job for _, job in asked]
        try:
            results = isolated(
                TRIAL, {"jobs": [job.to_json() for job in jobs]}, timeout_s
            )
        except Died as death:
            results = (
                [_alone(job, timeout_s) for job in jobs]
                if len(jobs) > 1
                else [_dead(death)]
            )
        found += [
            Trial(p, job, result)
            for (p, job), result in zip(asked, results, strict=True)
        ]
    return sorted(
        found,
        key=lambda t: (
            problems.index(t.problem),
            factors.dtypes.index(t.job.dtype),
            factors.directions.index(t.job.direction),
        ),
    )


def _alone(job: Job, timeout_s: float) -> dict[str, Any]:
    try:
        return isolated(TRIAL, {"jobs": [job.to_json()]}, timeout_s)[0]
    except Died as death:
        return _dead(death)


def _dead(death: Died) -> dict[str, Any]:
    return {"state": "unsupported", "text": str(death)}


def _distinct(tried: Sequence[Trial]) -> list[Trial]:
    """The framework's choice and a kernel asked for may be the same."""
    return list({t.name: t for t in tried}.values())


def _entry(trial: Trial) -> Entry:
    """The statement that the clock sees, and around it what makes and checks it."""
    job = replace(trial.job, kernel=trial.found["kernel"])
    names = ", ".join(f"x{i}" for i in range(trial.found["arguments"]))
    setup = (
        f"{IMPORTS}subject = Subject(Job(**{job.to_json()!r}))\nrun = subject.call.function\n"
        f"[{names}] = subject.call.arguments"
    )
    work = {
        key: trial.found[key] for key in ("flops", "bytes", "memory", "process_memory")
    } | {
        "dtype": job.dtype,
        "framework": job.framework,
        "kernel": job.kernel,
        "direction": job.direction,
        "problem": trial.problem.label,
        "operator": job.operator,
        "attributes": dict(job.attributes),
        "shape": job.shape,
    }
    return Entry(
        trial.name,
        Statement(f"run({names})", setup, "subject.check_again()"),
        trial.levels,
        group=job.framework,
        work=work,
    )


def _check_memory(good: Sequence[Trial]) -> None:
    """All inputs and outputs of a framework are there at once, and while they are checked a few times over."""
    needed = max(
        sum(2 * t.found["bytes"] for t in good if t.job.framework == name)
        for name in {t.job.framework for t in good}
    )
    there = memory_available(Host()) * 2**30
    if needed > 0.8 * there:
        raise Deep500Error(
            f"these problems need about {needed / 2**30:.3g} GiB at once, {there / 2**30:.3g} GiB are "
            f"free: measure them in parts, with --part 1/{int(needed / (0.4 * there)) + 1} and so on"
        )
