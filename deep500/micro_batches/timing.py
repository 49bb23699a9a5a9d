"""Times of convolutions by all algorithms and sizes of micro-batches; what is in the table is not measured again."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from ..contracts.convolution import ConvolutionProblem
from ..contracts.convolution_text import problem_text
from ..measure.bench_plan import check_plan
from ..measure.clock import calibrate, now
from ..measure.numbers import EntryNumbers
from ..measure.plan import make_plan
from ..measure.results import Result
from ..measure.running import measure_plan
from .batch_plan import TimedKernel, parts_of
from .running import algorithm, parts_workspace, refusal, run_parts
from .times_table import AGAIN, SEARCH, TimedPlan, TimesTable

# A plan that takes so many times as long as one with no more workspace in a first look is not measured further.
HOPELESS = 2.0
VISITS = 16  # of each plan, as far as the budget allows
SHORTEST_S, LONGEST_S = 0.05, 4.0  # the budget of plans that are measured together
PRECISION = 0.03


@dataclass(frozen=True)
class Timing:
    """How convolutions are timed: where times are kept, by how many threads, and who is told which is next."""

    table: TimesTable
    threads: int
    says: Callable[[str], None] = lambda text: None

    def kernels(
        self,
        problem: ConvolutionProblem,
        direction: str,
        sizes: Sequence[int],
        names: Sequence[str],
        most: int,
    ) -> list[TimedKernel]:
        """Every algorithm of these names that can compute this in `most` bytes, for micro-batches of every size."""
        kernels = []
        for size in sizes:
            part = problem.with_batch(size)
            workspaces = self.workspaces(part, direction, names)
            plans = {}
            for name, workspace in workspaces.items():
                if workspace <= most:
                    plans[name] = f"{size} {name}"
            times = self.times(part, direction, [*plans.values()], SEARCH)
            for name, plan in plans.items():
                seconds = times[plan].seconds
                kernels.append(TimedKernel(name, size, seconds, workspaces[name]))
        return kernels

    def workspaces(
        self, problem: ConvolutionProblem, direction: str, names: Sequence[str]
    ) -> dict[str, int]:
        """The bytes of every algorithm of these names that can compute this."""
        workspaces = {}
        for name in names:
            if refusal(name, problem, direction) is None:
                own = algorithm(name, problem.batch)
                workspaces[name] = own.workspace(problem, direction, self.threads)
        return workspaces

    def times(
        self,
        problem: ConvolutionProblem,
        direction: str,
        plans: Sequence[str],
        purpose: str = AGAIN,
    ) -> dict[str, TimedPlan]:
        """The time of every plan for this problem; those that are not in the table are measured side by side."""
        text = problem_text(problem)
        found = {}
        missing = []
        for plan in plans:
            timed = self.table.find(text, direction, plan, self.threads, purpose)
            if timed is None:
                missing.append(plan)
            else:
                found[plan] = timed
        if missing:
            self.says(f"timing {direction} {text}")
            runs = self._runs(problem, direction, missing)
            for plan, (seconds, low, high, n) in _measured(runs).items():
                found[plan] = self.table.add(
                    problem=text,
                    direction=direction,
                    plan=plan,
                    threads=self.threads,
                    purpose=purpose,
                    seconds=seconds,
                    low=low,
                    high=high,
                    n=n,
                )
        return found

    def _runs(
        self, problem: ConvolutionProblem, direction: str, plans: Sequence[str]
    ) -> dict[str, "ReadyPlan"]:
        """The plans as functions, on the same arrays."""
        random = np.random.default_rng(0)
        a_shape, b_shape, out_shape = problem.shapes(direction)
        a = random.random(a_shape, np.float32).astype(problem.dtype) - 0.5
        b = random.random(b_shape, np.float32).astype(problem.dtype) - 0.5
        out = np.empty(out_shape, problem.dtype)
        threads = self.threads
        parts = {plan: parts_of(plan) for plan in plans}
        nbytes = {}
        for plan, own in parts.items():
            nbytes[plan] = parts_workspace(own, problem, direction, threads)
        workspace = np.empty(max(nbytes.values()), np.uint8)
        runs = {}
        for plan, own in parts.items():
            arguments = (own, problem, direction, a, b, out, workspace, threads)
            runs[plan] = ReadyPlan(partial(run_parts, *arguments), nbytes[plan])
        return runs


@dataclass(frozen=True)
class ReadyPlan:
    """A plan that is ready to run, and the bytes of its workspace."""

    call: Callable[[], None]
    workspace: int


Measured = tuple[float, float | None, float | None, int]


def _measured(runs: Mapping[str, ReadyPlan]) -> dict[str, Measured]:
    """The median of each, its interval and the number of samples; of hopeless ones, a single time."""
    looks = {name: _look(each.call) for name, each in runs.items()}
    measured: dict[str, Measured] = {}
    promising = {}
    for name, each in runs.items():
        if _is_hopeless(looks[name], each.workspace, looks, runs):
            measured[name] = looks[name], None, None, 1
        else:
            promising[name] = each.call
    round_s = math.fsum(looks[name] for name in promising)
    budget_s = min(max(SHORTEST_S, VISITS * round_s), LONGEST_S)
    for entry in _entries(promising, budget_s):
        measured[entry.name] = entry.median, entry.low, entry.high, entry.n
    return measured


def _entries(
    calls: Mapping[str, Callable[[], None]], budget_s: float
) -> Sequence[EntryNumbers]:
    """The numbers of a measurement in this process, of which no bundle is written."""
    plan = make_plan(calls, budget_s=budget_s, precision=PRECISION, seed=0)
    clock = calibrate()
    written = check_plan(plan.to_json() | {"clock": asdict(clock)})
    result = Result(written, [])
    measure_plan(plan, clock, written, result.blocks.append)
    return result.derived.entries


def _look(call: Callable[[], None]) -> float:
    """The seconds of the second call: the first one loads code and gets memory."""
    call()
    began = now()
    call()
    return (now() - began) / 1e9


def _is_hopeless(
    seconds: float,
    workspace: int,
    looks: Mapping[str, float],
    runs: Mapping[str, ReadyPlan],
) -> bool:
    """Whether another plan is far faster in no more memory."""
    rivals = [name for name, run in runs.items() if run.workspace <= workspace]
    return any(looks[name] * HOPELESS < seconds for name in rivals)
