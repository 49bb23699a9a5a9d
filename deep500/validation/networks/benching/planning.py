"""From a network to a plan: what can be timed is tried first, what cannot is written down with its reason."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Unpack

from ....contracts.framework import ITS_OWN
from ....errors import Deep500Error, Wrong
from ....frameworks import framework
from ....measure.candidates import Statement
from ....measure.plan import Entry, Plan, Settings, make_plan
from ...isolation import Died, isolated
from .jobs import Job

Says = Callable[[str], None]
TRIAL = f"{__package__}.trial:attempt"
BREAKDOWN = f"{__package__}.breakdown:breakdown"
IMPORTS = f"from {__package__}.jobs import job_from_json\nfrom {__package__}.subject import Subject\n"
LEAST_TIMEOUT_S = 300.0  # compilers take their time


@dataclass(frozen=True)
class Request:
    """What is combined with each other."""

    model: str
    settings: Mapping[str, Any]
    frameworks: Sequence[str] = ("pytorch",)
    batches: Sequence[int] = (1,)
    modes: Sequence[str] = ("inference",)
    compile: Sequence[bool] = (False,)
    threads: int = 0

    def __post_init__(self) -> None:
        for name in self.frameworks:
            framework(name)  # an unknown name is said before anything is done
        for batch in self.batches:
            if batch < 1:
                raise Deep500Error(f"--batch {batch}: give 1 or more")
        for what, values in (
            ("--framework", self.frameworks),
            ("--batch", self.batches),
        ):
            if len(set(values)) < len(values):
                raise Deep500Error(
                    f"{what} names {' '.join(map(str, values))}: give each once"
                )

    def jobs(self, name: str) -> list[Job]:
        """Those of one framework."""
        path = Path(self.model.partition(".py:")[0])
        model = (
            str(Path(self.model).absolute()) if path.suffix == ".onnx" else self.model
        )
        return [
            Job(model, self.settings, name, compile, batch, mode, self.threads)
            for mode, batch, compile in product(self.modes, self.batches, self.compile)
        ]


@dataclass(frozen=True)
class Trial:
    """A job and what came of it."""

    job: Job
    found: Mapping[str, Any]

    @property
    def candidate(self) -> str:
        """The framework, and whose kernels run: never left out, as they are different programs."""
        words = self.found.get("kernels") or {}
        shown = ", ".join(
            f"{count} {word}" for word, count in sorted(words.items(), reverse=True)
        )
        only = next(iter(words)) if len(words) == 1 else shown
        return f"{self.job.framework} {self.job.way}" + (f" ({only})" if words else "")

    @property
    def name(self) -> str:
        return f"{self.candidate} {self.job.mode} batch={self.job.batch}"


def network_plan(
    request: Request, says: Says = lambda text: None, **settings: Unpack[Settings]
) -> Plan:
    """Try every combination, and plan those that give right results."""
    timeout_s = settings.get("timeout_s") or max(
        LEAST_TIMEOUT_S, 3 * settings.get("budget_s", 5.0)
    )
    settings["timeout_s"] = timeout_s
    base = make_plan(
        {"a network": Statement("pass")}, **settings
    )  # checks the settings
    began = time.monotonic()
    tried = [
        trial
        for name in request.frameworks
        for trial in _trials(request, name, timeout_s, says)
    ]
    started = (
        time.monotonic() - began
    )  # about what the first processes need before they measure
    tried.sort(
        key=lambda t: (
            request.modes.index(t.job.mode),
            request.batches.index(t.job.batch),
        )
    )
    good = [t for t in tried if t.found["state"] == "ok"]
    wrong = {t.name: t.found["text"] for t in tried if t.found["state"] == "wrong"}
    left_out = {
        t.name: t.found["text"] for t in tried if t.found["state"] == "unsupported"
    }
    if not good:
        raise (Wrong if wrong else Deep500Error)(
            next(iter({**wrong, **left_out}.values()))
        )
    about = {
        "network": request.model,
        "file": _digest(request.model),
        "wrong": wrong,
        "left_out": left_out,
        "threads": _threads(request),
        "inputs": "the same in every call, on the framework's side already",
    }
    factors: dict[str, Any] = {
        "mode": list(request.modes),
        "batch": list(request.batches),
    }
    entries = tuple(map(_entry, good))
    return replace(
        base,
        budget_s=base.budget_s + started,
        entries=entries,
        factors=factors,
        user_imports=False,
        about=about,
    )


def breakdown_blocks(
    plan: Plan, seconds: float, processes: int, says: Says
) -> "list[dict[str, Any]]":
    """The nodes of every framework's network one by one, at the largest batch, in fresh processes."""
    largest = max(entry.levels["batch"] for entry in plan.entries)
    chosen = [entry for entry in plan.entries if entry.levels["batch"] == largest]
    each = seconds / processes / len(plan.groups)
    blocks = []
    for process in range(processes):
        for name in plan.groups:
            says(f"the operators of {name}, process {process + 1} of {processes}")
            own = [entry for entry in chosen if entry.group == name]
            blocks += _breakdown(own, process, each, plan)
    return blocks


def _breakdown(
    entries: Sequence[Entry], process: int, seconds: float, plan: Plan
) -> list[dict[str, Any]]:
    arguments = {
        "jobs": [entry.work["job"] for entry in entries],
        "process": process,
        "seconds": seconds,
        "seed": plan.seed,
    }
    try:
        found = isolated(BREAKDOWN, arguments, plan.timeout_s)
    except Died as death:
        found = [{"unsupported": str(death)}] * len(entries)
    return [
        {"breakdown": e.name, **block} for e, block in zip(entries, found, strict=True)
    ]


def _trials(request: Request, name: str, timeout_s: float, says: Says) -> list[Trial]:
    """One child process per framework; if it dies, one per job, so that only the guilty one is left out."""
    jobs = request.jobs(name)
    says(f"checking {len(jobs)} on {name}")
    try:
        found = isolated(TRIAL, {"jobs": [job.to_json() for job in jobs]}, timeout_s)
    except Died as death:
        alone = len(jobs) == 1
        found = [_dead(death)] if alone else [_alone(job, timeout_s) for job in jobs]
    return [Trial(job, result) for job, result in zip(jobs, found, strict=True)]


def _alone(job: Job, timeout_s: float) -> dict[str, Any]:
    try:
        return isolated(TRIAL, {"jobs": [job.to_json()]}, timeout_s)[0]
    except Died as death:
        return _dead(death)


def _dead(death: Died) -> dict[str, Any]:
    return {"state": "unsupported", "text": str(death)}


def _entry(trial: Trial) -> Entry:
    """The statement that the clock sees, and around it what makes and checks it."""
    job = trial.job.to_json()
    setup = f"{IMPORTS}subject = Subject(job_from_json({job!r}))\nrun = subject.run"
    known = {key: value for key, value in trial.found.items() if key != "state"}
    work = known | {"job": job, "candidate": trial.candidate, "dtype": "float32"}
    statement = Statement("run()", setup, "subject.check()")
    return Entry(
        trial.name, statement, trial.job.levels, group=trial.job.framework, work=work
    )


def _threads(request: Request) -> int | str:
    if not request.threads:
        return "each framework's choice"
    choosing = [name for name in request.frameworks if not framework(name).sets_threads]
    own = f"; {ITS_OWN} on {', '.join(choosing)}"
    return f"{request.threads}{own}" if choosing else request.threads


def _digest(model: str) -> str:
    """The SHA-256 of a file, by which others know that they have the same."""
    path = Path(model.partition(".py:")[0] + (".py" if ".py:" in model else ""))
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
