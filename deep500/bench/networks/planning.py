"""Plans the benchmark of a network: every job is tried first; those that cannot be timed are listed with a reason."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Unpack

from ...contracts.framework import ITS_OWN
from ...errors import Deep500Error, Wrong
from ...frameworks import framework
from ...measure.candidates import Statement
from ...measure.plan import Plan, PlanEntry, Settings, make_plan
from ...supervision.isolation import Died, isolated
from .jobs import NetworkJob

Progress = Callable[[str], None]
TRIAL = f"{__package__}.trial:attempt"
BREAKDOWN = f"{__package__}.breakdown:breakdown"
IMPORTS = f"from {__package__}.jobs import job_from_json\nfrom {__package__}.subject import NetworkSubject\n"
ALL = "all"  # every execution that a framework has
ADVICE = "give --execution all for every one that it has"
LEAST_TIMEOUT_S = 300.0  # compilers take their time


@dataclass(frozen=True)
class NetworkBenchRequest:
    """The factors of a benchmark; every combination of them is a job."""

    model: str
    settings: Mapping[str, Any]
    frameworks: Sequence[str] = ("pytorch",)
    batches: Sequence[int] = (1,)
    modes: Sequence[str] = ("inference",)
    # words of EXECUTIONS, or ALL; none: each framework's usual one
    executions: Sequence[str] = ()
    threads: int = 0

    def __post_init__(self) -> None:
        for name in self.frameworks:
            # raises for an unknown name before anything is done
            framework(name)
        for batch in self.batches:
            if batch < 1:
                raise Deep500Error(f"--batch {batch}: give 1 or more")
        for word in self.executions:
            self._check_execution(word)
        _refuse_duplicates("--framework", self.frameworks)
        _refuse_duplicates("--batch", self.batches)

    def _check_execution(self, word: str) -> None:
        """Raise `Unsupported` if no framework of this request runs networks so."""
        adapters = [framework(name) for name in self.frameworks]
        if word == ALL or any(word in fw.executions for fw in adapters):
            return
        raise adapters[0].no_execution(word, ADVICE)

    def executions_of(self, name: str) -> list[str]:
        """How the network is to run on a framework, each way once."""
        offered = framework(name).executions
        if not self.executions:
            return [offered[0]]
        words = offered if ALL in self.executions else self.executions
        return list(dict.fromkeys(words))

    def jobs(self, name: str) -> list[NetworkJob]:
        """The jobs of one framework."""
        model = self.model
        path = Path(model.partition(".py:")[0])
        if path.suffix == ".onnx":
            model = str(Path(model).absolute())
        jobs = []
        executions = self.executions_of(name)
        for mode, batch, execution in product(
            self.modes, self.batches, executions
        ):
            job = NetworkJob(
                model, self.settings, name, execution, batch, mode, self.threads
            )
            jobs.append(job)
        return jobs


def _refuse_duplicates(option: str, values: Sequence[Any]) -> None:
    if len(set(values)) < len(values):
        listed = " ".join(map(str, values))
        raise Deep500Error(f"{option} names {listed}: give each once")


@dataclass(frozen=True)
class NetworkTrial:
    """A job and the result of its trial."""

    job: NetworkJob
    result: Mapping[str, Any]

    @property
    def candidate(self) -> str:
        """The framework and the kinds of its kernels, because other kernels are another program."""
        name = f"{self.job.framework} {self.job.execution}"
        counts = self.result.get("kernels") or {}
        if not counts:
            return name
        if len(counts) == 1:
            [kind] = counts
            return f"{name} ({kind})"
        parts = []
        for kind in sorted(counts, reverse=True):
            parts.append(f"{counts[kind]} {kind}")
        kinds = ", ".join(parts)
        return f"{name} ({kinds})"

    @property
    def name(self) -> str:
        job = self.job
        return f"{self.candidate} {job.mode} batch={job.batch}"


def network_plan(
    request: NetworkBenchRequest,
    progress: Progress = lambda text: None,
    **settings: Unpack[Settings],
) -> Plan:
    """Try every combination, and plan those that give right results.

    Raises `Wrong` or `Deep500Error` with the first reason if none does.
    """
    usual_timeout_s = max(LEAST_TIMEOUT_S, 3 * settings.get("budget_s", 5.0))
    timeout_s = settings.get("timeout_s") or usual_timeout_s
    settings["timeout_s"] = timeout_s
    # checks the settings
    base = make_plan({"a network": Statement("pass")}, **settings)
    began = time.monotonic()
    trials: list[NetworkTrial] = []
    for name in request.frameworks:
        trials += _trials(request, name, timeout_s, progress)
    # about what the first processes need before they measure
    start_up_s = time.monotonic() - began
    trials.sort(key=lambda trial: _order(request, trial.job))
    good = [trial for trial in trials if trial.result["state"] == "ok"]
    wrong = _reasons(trials, "wrong")
    left_out = _reasons(trials, "unsupported")
    if not good:
        reason = next(iter({**wrong, **left_out}.values()))
        raise Wrong(reason) if wrong else Deep500Error(reason)
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
    return replace(
        base,
        budget_s=base.budget_s + start_up_s,
        entries=tuple(map(_entry, good)),
        factors=factors,
        user_imports=False,
        about=about,
    )


def _order(request: NetworkBenchRequest, job: NetworkJob) -> tuple[int, int]:
    """The place of a job in the result: by mode, then by batch, as they were requested."""
    mode = request.modes.index(job.mode)
    batch = request.batches.index(job.batch)
    return mode, batch


def _reasons(trials: Sequence[NetworkTrial], state: str) -> dict[str, str]:
    """The reasons of the trials that ended in this state, by name."""
    reasons = {}
    for trial in trials:
        if trial.result["state"] == state:
            reasons[trial.name] = trial.result["text"]
    return reasons


def breakdown_blocks(
    plan: Plan, seconds: float, processes: int, progress: Progress
) -> "list[dict[str, Any]]":
    """The times of the single nodes of every framework's network, at the largest batch, in fresh processes."""
    largest = max(entry.levels["batch"] for entry in plan.entries)
    chosen = [
        entry for entry in plan.entries if entry.levels["batch"] == largest
    ]
    seconds_each = seconds / processes / len(plan.groups)
    blocks = []
    for process in range(processes):
        number = process + 1
        for name in plan.groups:
            progress(
                f"the operators of {name}, process {number} of {processes}"
            )
            entries = [entry for entry in chosen if entry.group == name]
            blocks += _breakdown(entries, process, seconds_each, plan)
    return blocks


def _breakdown(
    entries: Sequence[PlanEntry], process: int, seconds: float, plan: Plan
) -> list[dict[str, Any]]:
    arguments = {
        "jobs": [entry.work["job"] for entry in entries],
        "process": process,
        "seconds": seconds,
        "seed": plan.seed,
    }
    try:
        results = isolated(BREAKDOWN, arguments, plan.timeout_s)
    except Died as death:
        results = [{"unsupported": str(death)}] * len(entries)
    blocks = []
    for entry, result in zip(entries, results, strict=True):
        blocks.append({"breakdown": entry.name, **result})
    return blocks


def _trials(
    request: NetworkBenchRequest,
    name: str,
    timeout_s: float,
    progress: Progress,
) -> list[NetworkTrial]:
    """Try the jobs in one child process; if it dies, each in its own, so that only the faulty one is left out."""
    jobs = request.jobs(name)
    progress(f"checking {len(jobs)} on {name}")
    try:
        results = _results(jobs, timeout_s)
    except Died as death:
        if len(jobs) == 1:
            results = [_died(death)]
        else:
            results = [_result_alone(job, timeout_s) for job in jobs]
    trials = []
    for job, result in zip(jobs, results, strict=True):
        trials.append(NetworkTrial(job, result))
    return trials


def _results(
    jobs: Sequence[NetworkJob], timeout_s: float
) -> list[dict[str, Any]]:
    """The results of these jobs in a child process. Raises `Died` if it ends early."""
    arguments = {"jobs": [job.to_json() for job in jobs]}
    return isolated(TRIAL, arguments, timeout_s)


def _result_alone(job: NetworkJob, timeout_s: float) -> dict[str, Any]:
    try:
        return _results([job], timeout_s)[0]
    except Died as death:
        return _died(death)


def _died(death: Died) -> dict[str, Any]:
    return {"state": "unsupported", "text": str(death)}


def _entry(trial: NetworkTrial) -> PlanEntry:
    """The statement that is timed, with its setup and its check."""
    job = trial.job.to_json()
    setup = f"{IMPORTS}subject = NetworkSubject(job_from_json({job!r}))\nrun = subject.run"
    statement = Statement("run()", setup, "subject.check()")
    work = dict(trial.result)
    del work["state"]
    work |= {"job": job, "candidate": trial.candidate, "dtype": "float32"}
    levels = trial.job.levels
    return PlanEntry(
        trial.name, statement, levels, group=trial.job.framework, work=work
    )


def _threads(request: NetworkBenchRequest) -> int | str:
    if not request.threads:
        return "each framework's choice"
    fixed = [
        name for name in request.frameworks if not framework(name).sets_threads
    ]
    if not fixed:
        return request.threads
    names = ", ".join(fixed)
    return f"{request.threads}; {ITS_OWN} on {names}"


def _digest(model: str) -> str:
    """The SHA-256 of the model's file, by which others can tell that theirs is the same; empty if it has none."""
    file, is_function, _ = model.partition(".py:")
    if is_function:
        file += ".py"
    path = Path(file)
    if not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()
