"""From jobs to a plan: every job is tried first, and those that cannot be timed are recorded with the reason."""

import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Unpack

import numpy as np

from ...contracts.framework import ITS_OWN
from ...errors import Deep500Error, Wrong
from ...frameworks import framework
from ...measure.bounds.roofline import SECONDS as PEAKS_S
from ...measure.bounds.roofline import kept_peaks, peaks
from ...measure.candidates import Statement
from ...measure.machine.host.files import HostFiles
from ...measure.machine.host.memory import memory_available
from ...measure.plan import Plan, PlanEntry, Settings, make_plan
from ...supervision.child import Ended
from ...supervision.isolation import Died, isolated_each
from .jobs import DIRECTIONS, BenchProblem, OperatorJob, check_dtype
from .truth import shared_arrays

Says = Callable[[str], None]
CRASHES = {
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGILL,
    signal.SIGFPE,
    signal.SIGABRT,
}
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
    def is_own(self) -> bool:
        """Whether the operator is a user's."""
        return ":" in self.job.operator

    @property
    def text(self) -> str:
        """Why it cannot be timed."""
        return str(self.result["text"])

    @property
    def levels(self) -> dict[str, str]:
        """What entries that are compared have in common; rivals are compared on each framework."""
        levels = {
            "problem": self.problem.level,
            "dtype": self.job.dtype,
            "direction": self.job.direction,
        }
        if self.problem.rival:
            levels["framework"] = self.job.framework
        return levels

    @property
    def kernel(self) -> str:
        """Whose code runs, as far as it is known."""
        if self.state == "ok":
            return str(self.result["label"])
        if self.job.kernel == "native" and self.is_own:
            return "custom"
        return self.job.kernel or "its own choice"

    @property
    def name(self) -> str:
        words = (
            self.job.framework,
            self.kernel,
            self.problem.label,
            self.job.dtype,
            self.job.direction,
        )
        return " ".join(words)


@dataclass
class Pace:
    """How long the checks will take; says so once, if they and the starts of processes take longer than the budget."""

    total: int
    frameworks: int
    budget_s: float
    tell: Says
    done: int = 0
    first_s: float = 0.0  # of the first job, which starts its framework
    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.began

    def step(self) -> None:
        """One more job was checked."""
        self.done += 1
        if self.done == 1:
            self.first_s = self.elapsed_s
        if self.done < min(2, self.total):
            return
        if self.before_s > self.budget_s:
            self.tell(self._warning)
            self.tell = _say_nothing

    @property
    def before_s(self) -> float:
        """How long everything takes before the first sample; the processes that time start once more."""
        starts_s = self.frameworks * self.first_s
        others_s = 0.0
        if self.done > 1:
            others_s = (self.elapsed_s - self.first_s) / (self.done - 1)
        return 2 * starts_s + (self.total - self.frameworks) * others_s

    @property
    def _warning(self) -> str:
        combinations = "one combination"
        advice = ""
        if self.total > 1:
            combinations = f"{self.total} combinations"
            advice = ": fewer shapes, frameworks or kernels take less"
        seconds = max(1, round(self.before_s))
        return (
            f"to check {combinations} and to start processes takes about {seconds} s beside the budget of "
            f"{self.budget_s:g} s{advice}"
        )


def _say_nothing(text: str) -> None:
    pass


def operator_plan(
    problems: Sequence[BenchProblem],
    over: BenchFactors,
    scope: str = "",
    says: Says = _say_nothing,
    tell: Says = _say_nothing,
    **settings: Unpack[Settings],
) -> Plan:
    """Try every combination, and plan those that give right results.

    `says` is called with what is being done, `tell` with lines that the user should see.
    """
    timeout_s = _timeout_s(settings)
    settings["timeout_s"] = timeout_s
    # This checks the settings before anything runs.
    base = make_plan({"an operator": Statement("pass")}, **settings)
    tasks = _tasks(problems, over)
    pace = Pace(len(tasks), len(over.frameworks), base.budget_s, tell)
    trials = _distinct(_trials(tasks, timeout_s, says, pace))
    # About what the first processes will need before their first sample; they share what was computed.
    starting_s = pace.elapsed_s - _truth_s(trials)
    good = [trial for trial in trials if trial.state == "ok"]
    wrong = _reasons(trials, "wrong")
    if not good:
        raise _nothing_to_time(trials, wrong)
    _check_rivals(trials)
    _check_memory(good)
    if kept_peaks() is None:
        tell(
            f"the peaks of this machine are measured first, once, which takes about {PEAKS_S:.0f} s"
        )
    says("the peaks of this machine")
    about = {
        "peaks": peaks().to_json(),
        "wrong": wrong,
        "left_out": _reasons(trials, "unsupported"),
        "threads": _threads(over),
        "inputs": "the same in every call; overwritten with others for the check after the timing",
    }
    if differing := _differing(good):
        about["differing"] = differing
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
    # what a user wrote comes before what was added to compare it with
    own_first = sorted(trials, key=lambda trial: not trial.is_own)
    texts = [trial.text for trial in own_first]
    reasons = list(dict.fromkeys(texts))
    more = ""
    if len(reasons) > 1:
        more = f" (and {len(reasons) - 1} more reasons)"
    for text in wrong.values():
        return Wrong(text + more)
    return Deep500Error(reasons[0] + more)


def _check_rivals(trials: Sequence[OperatorTrial]) -> None:
    """Raise a Deep500Error if a user's operator that is to be compared runs on none of the frameworks."""
    reasons: dict[str, list[str]] = {}
    running = set()
    for trial in trials:
        if not trial.problem.rival or not trial.is_own:
            continue
        if trial.state == "unsupported":
            reasons.setdefault(trial.job.operator, []).append(trial.text)
        else:
            running.add(trial.job.operator)
    for operator, texts in reasons.items():
        if operator not in running:
            raise Deep500Error(
                f"{operator} cannot be compared with the others: {texts[0]}"
            )


def _levels(trials: Sequence[OperatorTrial]) -> dict[str, list[str]]:
    """The levels of every factor, in the order in which they occur."""
    levels = {}
    for factor in trials[0].levels:
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


def _tasks(
    problems: Sequence[BenchProblem], factors: BenchFactors
) -> list[tuple[BenchProblem, OperatorJob]]:
    """A job for every combination of a problem with the factors, framework by framework."""
    tasks = []
    for name, problem, dtype, direction, kernel in product(
        factors.frameworks,
        problems,
        factors.dtypes,
        factors.directions,
        factors.kernels,
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


def _trials(
    tasks: Sequence[tuple[BenchProblem, OperatorJob]],
    timeout_s: float,
    says: Says,
    pace: Pace,
) -> list[OperatorTrial]:
    """Try the jobs of each framework in a process of its own; sorted so that what is compared stands together."""
    trials: list[OperatorTrial] = []
    for name in dict.fromkeys(job.framework for _, job in tasks):
        own_tasks = [task for task in tasks if task[1].framework == name]
        calls = [{"job": job.to_json()} for _, job in own_tasks]
        says(f"checking {len(calls)} on {name}")
        results = isolated_each(TRIAL, calls, timeout_s)
        for (problem, job), result in zip(own_tasks, results, strict=True):
            if isinstance(result, Died):
                result = _death(job, result)
            trials.append(OperatorTrial(problem, job, result))
            pace.step()
    places: dict[tuple, int] = {}
    for trial in trials:
        places.setdefault(_place(trial), len(places))
    return sorted(trials, key=lambda trial: places[_place(trial)])


def _death(job: OperatorJob, death: Died) -> dict[str, str]:
    """The result of a job whose process gave no answer; a user's operator that crashes it is wrong."""
    is_crash = isinstance(death, Ended) and -death.code in CRASHES
    if is_crash and ":" in job.operator:
        return {"state": "wrong", "text": f"{job.operator}: {death}"}
    return {"state": "unsupported", "text": str(death)}


def _place(trial: OperatorTrial) -> tuple[str, ...]:
    """The levels without the framework: what stands together in tables."""
    levels = trial.levels
    return levels["problem"], levels["dtype"], levels["direction"]


def _truth_s(trials: Sequence[OperatorTrial]) -> float:
    """How long the truths took, which are computed once."""
    return sum(trial.result.get("truth_s", 0.0) for trial in trials)


def _distinct(trials: Sequence[OperatorTrial]) -> list[OperatorTrial]:
    """One trial per name: the framework's choice of a kernel and one that was asked for may be the same."""
    by_name: dict[str, OperatorTrial] = {}
    for trial in trials:
        by_name.setdefault(trial.name, trial)
    return list(by_name.values())


def _differing(good: Sequence[OperatorTrial]) -> dict[str, str]:
    """Which rivals compute something else than the first of them, by their names."""
    first_at: dict[tuple, OperatorTrial] = {}
    differing = {}
    for trial in good:
        if not trial.problem.rival:
            continue
        levels = tuple(trial.levels.values())
        first = first_at.setdefault(levels, trial)
        if fault := _difference(first, trial):
            differing[trial.name] = fault
    return differing


def _difference(first: OperatorTrial, other: OperatorTrial) -> str:
    """How far the exact results of two rivals are apart, if rounding does not explain it."""
    if first.result["truth"] == other.result["truth"]:
        return ""
    arrays = []
    for trial in (first, other):
        for part in ("outputs", "output_bounds"):
            arrays.append(shared_arrays(trial.result["truth"], part))
    if any(part is None for part in arrays):
        return ""  # too large to be shared
    base = first.problem.rival
    for a, bound_a, b, bound_b in zip(*arrays, strict=False):
        if a.shape != b.shape:
            return (
                f"it gives {list(b.shape)} where {base} gives {list(a.shape)}"
            )
        with np.errstate(all="ignore"):
            apart = np.abs(np.subtract(a, b, dtype="float64"))
            is_beyond = apart > bound_a + bound_b
        if is_beyond.any():
            largest = float(apart[is_beyond].max())
            count = int(is_beyond.sum())
            return (
                f"it computes something else than {base}: {count} of {a.size} results differ, by up to "
                f"{largest:.3g}"
            )
    return ""


def _entry(trial: OperatorTrial) -> PlanEntry:
    """The statement that the clock sees, and around it what makes and checks it."""
    result = trial.result
    kernel = trial.job.kernel or result["kernel"]
    job = replace(trial.job, kernel=kernel)
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
        "kernel": trial.kernel,
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
