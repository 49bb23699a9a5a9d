"""From jobs to a plan: every job is tried first, and those that cannot be timed are recorded with the reason."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Unpack

from ...contracts.framework import ITS_OWN
from ...errors import Deep500Error, Wrong
from ...frameworks import framework
from ...measure.bounds.roofline import peaks
from ...measure.candidates import Statement
from ...measure.machine.host.files import HostFiles
from ...measure.machine.host.memory import memory_available
from ...measure.plan import Plan, PlanEntry, Settings, make_plan
from ..isolation import Died, isolated
from .jobs import DIRECTIONS, BenchProblem, OperatorJob, check_dtype

Says = Callable[[str], None]
TRIAL = f"{__package__}.trial:attempt"
IMPORTS = f"from {__package__}.jobs import OperatorJob\nfrom {__package__}.subject import OperatorSubject\n"


@dataclass(frozen=True)
class BenchFactors:
    """What is combined with every problem."""

    dtypes: Sequence[str] = ("float32",)
    frameworks: Sequence[str] = ("pytorch",)
    kernels: Sequence[str] = ("",)
    directions: Sequence[str] = ("forward",)
    threads: int = 0
    reference: str = ""  # for a user's operator: a function that computes the same, as FILE:NAME

    def __post_init__(self) -> None:
        for dtype in self.dtypes:
            check_dtype(dtype)
        # an unknown name is refused before anything runs
        for name in self.frameworks:
            framework(name).dtype(self.dtypes[0])
        if unknown_directions := set(self.directions) - set(DIRECTIONS):
            name = unknown_directions.pop()
            choices = " or ".join(DIRECTIONS)
            raise Deep500Error(
                f"no direction is named {name!r}: choose {choices}"
            )


@dataclass(frozen=True)
class OperatorTrial:
    """A job and the result of trying it."""

    problem: BenchProblem
    job: OperatorJob
    result: Mapping[str, Any]

    @property
    def state(self) -> str:
        """ok, wrong or unsupported."""
        return str(self.result["state"])

    @property
    def text(self) -> str:
        """Why it cannot be timed."""
        return str(self.result["text"])

    @property
    def levels(self) -> dict[str, str]:
        return {
            "problem": self.problem.label,
            "dtype": self.job.dtype,
            "direction": self.job.direction,
        }

    @property
    def candidate(self) -> str:
        kernel = (
            self.result.get("kernel") or self.job.kernel or "its own choice"
        )
        return f"{self.job.framework} {kernel}"

    @property
    def name(self) -> str:
        return " ".join([self.candidate, *self.levels.values()])


def operator_plan(
    problems: Sequence[BenchProblem],
    over: BenchFactors,
    scope: str = "",
    says: Says = lambda text: None,
    **settings: Unpack[Settings],
) -> Plan:
    """Try every combination, and plan those that give right results."""
    timeout_s = _timeout_s(settings)
    settings["timeout_s"] = timeout_s
    # This checks the settings before anything runs.
    base = make_plan({"an operator": Statement("pass")}, **settings)
    began = time.monotonic()
    trials = _distinct(_trials(problems, over, timeout_s, says))
    # About what the first processes will need before their first sample.
    starting_s = time.monotonic() - began
    good = [trial for trial in trials if trial.state == "ok"]
    wrong = _reasons(trials, "wrong")
    if not good:
        raise _nothing_to_time(trials, wrong)
    _check_memory(good)
    says("the peaks of this machine")
    about = {
        "peaks": peaks().to_json(),
        "wrong": wrong,
        "left_out": _reasons(trials, "unsupported"),
        "threads": _threads(over),
        "inputs": "the same in every call; overwritten with others for the check after the timing",
    }
    if scope:
        about["scope"] = scope
    return replace(
        base,
        budget_s=base.budget_s + starting_s,
        entries=tuple(map(_entry, good)),
        factors=_levels(good),
        user_imports=False,
        about=about,
    )


def _timeout_s(settings: Settings) -> float:
    """As it is set, or several times the budget."""
    if settings.get("timeout_s") is None:
        return max(120.0, 3 * settings.get("budget_s", 5.0))
    return float(settings["timeout_s"] or 0)


def _reasons(trials: Sequence[OperatorTrial], state: str) -> dict[str, str]:
    """Why the trials in this state cannot be timed, by their names."""
    return {trial.name: trial.text for trial in trials if trial.state == state}


def _nothing_to_time(
    trials: Sequence[OperatorTrial], wrong: Mapping[str, str]
) -> Deep500Error:
    """The error if no trial can be timed: the first wrong result, or else the first reason."""
    texts = [trial.text for trial in trials]
    reasons = list(dict.fromkeys(texts))
    more = ""
    if len(reasons) > 1:
        more = f" (and {len(reasons) - 1} more reasons)"
    for text in wrong.values():
        return Wrong(text + more)
    return Deep500Error(reasons[0] + more)


def _levels(trials: Sequence[OperatorTrial]) -> dict[str, list[str]]:
    """The levels of every factor, in the order in which they occur."""
    levels = {}
    for factor in ("problem", "dtype", "direction"):
        occurring = [trial.levels[factor] for trial in trials]
        levels[factor] = list(dict.fromkeys(occurring))
    return levels


def _threads(over: BenchFactors) -> int | str:
    """How many threads every framework computed with, as the report says it."""
    if not over.threads:
        return "each framework's choice"
    choosing = [
        name for name in over.frameworks if not framework(name).sets_threads
    ]
    if not choosing:
        return over.threads
    names = ", ".join(choosing)
    return f"{over.threads}; {ITS_OWN} on {names}"


def _trials(
    problems: Sequence[BenchProblem],
    factors: BenchFactors,
    timeout_s: float,
    says: Says,
) -> list[OperatorTrial]:
    """One child process per framework; if it dies, one per job, so that only the guilty one is left out."""
    trials: list[OperatorTrial] = []
    for name in factors.frameworks:
        tasks = _tasks(problems, factors, name)
        says(f"checking {len(tasks)} on {name}")
        results = _results([job for _, job in tasks], timeout_s)
        for (problem, job), result in zip(tasks, results, strict=True):
            trials.append(OperatorTrial(problem, job, result))

    def place(trial: OperatorTrial) -> tuple[int, int, int]:
        return (
            problems.index(trial.problem),
            factors.dtypes.index(trial.job.dtype),
            factors.directions.index(trial.job.direction),
        )

    return sorted(trials, key=place)


def _tasks(
    problems: Sequence[BenchProblem], factors: BenchFactors, name: str
) -> list[tuple[BenchProblem, OperatorJob]]:
    """A job for every combination of a problem with the factors, on one framework."""
    tasks = []
    for problem, dtype, direction, kernel in product(
        problems, factors.dtypes, factors.directions, factors.kernels
    ):
        job = OperatorJob(
            problem.operator,
            problem.attributes,
            problem.shape,
            dtype,
            name,
            kernel,
            direction,
            factors.threads,
            factors.reference,
        )
        tasks.append((problem, job))
    return tasks


def _results(
    jobs: Sequence[OperatorJob], timeout_s: float
) -> list[dict[str, Any]]:
    documents = [job.to_json() for job in jobs]
    try:
        return isolated(TRIAL, {"jobs": documents}, timeout_s)
    except Died as death:
        if len(jobs) <= 1:
            return [_dead(death)]
    return [_alone(job, timeout_s) for job in jobs]


def _alone(job: OperatorJob, timeout_s: float) -> dict[str, Any]:
    request = {"jobs": [job.to_json()]}
    try:
        return isolated(TRIAL, request, timeout_s)[0]
    except Died as death:
        return _dead(death)


def _dead(death: Died) -> dict[str, Any]:
    return {"state": "unsupported", "text": str(death)}


def _distinct(trials: Sequence[OperatorTrial]) -> list[OperatorTrial]:
    """One trial per name: the framework's choice of a kernel and one that was asked for may be the same."""
    by_name = {trial.name: trial for trial in trials}
    return list(by_name.values())


def _entry(trial: OperatorTrial) -> PlanEntry:
    """The statement that the clock sees, and around it what makes and checks it."""
    result = trial.result
    job = replace(trial.job, kernel=result["kernel"])
    arguments = [f"x{i}" for i in range(result["arguments"])]
    names = ", ".join(arguments)
    document = job.to_json()
    setup = (
        f"{IMPORTS}subject = OperatorSubject(OperatorJob(**{document!r}))\nrun = subject.call.function\n"
        f"[{names}] = subject.call.arguments"
    )
    statement = Statement(f"run({names})", setup, "subject.check_again()")
    work = {
        "flops": result["flops"],
        "bytes": result["bytes"],
        "memory": result["memory"],
        "process_memory": result["process_memory"],
        "dtype": job.dtype,
        "framework": job.framework,
        "kernel": job.kernel,
        "direction": job.direction,
        "problem": trial.problem.label,
        "operator": job.operator,
        "attributes": dict(job.attributes),
        "shape": job.shape,
    }
    return PlanEntry(
        trial.name, statement, trial.levels, group=job.framework, work=work
    )


def _check_memory(good: Sequence[OperatorTrial]) -> None:
    """Raise a Deep500Error if the inputs and outputs of all trials of a framework do not fit into memory at once."""
    bytes_of: Counter[str] = Counter()
    for trial in good:  # twice: there are several copies while they are checked
        bytes_of[trial.job.framework] += 2 * trial.result["bytes"]
    needed = max(bytes_of.values())
    free = memory_available(HostFiles()) * 2**30
    if needed > 0.8 * free:
        needed_gib = needed / 2**30
        free_gib = free / 2**30
        parts = int(needed / (0.4 * free)) + 1
        raise Deep500Error(
            f"these problems need about {needed_gib:.3g} GiB at once, {free_gib:.3g} GiB are "
            f"free: measure them in parts, with --part 1/{parts} and so on"
        )
