"""From a benchmark to its result: the jobs are tried, those that are right are planned, timed and recorded."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from ..bundle.records.recording import Recording, recorded_run, recording
from ..contracts.result import Record
from ..measure.locked_clocks import locked_clocks
from ..measure.plan import (
    Plan,
    PlanEntry,
    Settings,
    complete_settings,
    plan_of,
)
from ..measure.quiet import Moment, wait_for_quiet
from ..measure.running import Progress
from ..schema import encoded
from .benchmark import Benchmark, Trial
from .notes import Notes, Pace, Says, at_the_end, notes_of
from .trials import nothing_to_time, reasons, together, trials

Quiet = Callable[[], Moment]  # waits for a quiet machine


def run_benchmark(
    benchmark: Benchmark,
    *,
    quiet: Quiet | None = None,
    wait_for_quiet_s: float = 0.0,
    out: str | Path | None = None,
    progress: Progress | None = None,
    tell: Says | None = None,
    lock_clock: int | None = None,
    **settings: Unpack[Settings],
) -> Record:
    """Check every job, wait for a quiet machine, and measure those that are right; returns the record of the bundle.

    Notes for the user, such as that checks will take longer than the budget, go to `tell`. Settings: budget_s,
    precision, margin, level, processes, timeout_s, seed. `lock_clock` is the MHz of the devices meanwhile.
    """
    # raises a Deep500Error for settings that make no sense, before anything is read
    asked = _settings(benchmark, settings)
    notes = notes_of(progress, tell)
    if not benchmark.timed:
        return _recorded_trials(benchmark, asked, progress, out)
    with ExitStack() as stack:
        ready = stack.enter_context(benchmark.prepared(notes))
        locked = {}
        if lock_clock is not None:
            groups = [job.group for job in ready.jobs()]
            locked = stack.enter_context(locked_clocks(groups, lock_clock))
        plan = benchmark_plan(ready, notes, **settings)
        if locked:
            plan = _with_facts(plan, locked_clocks=locked)
        moment = quiet() if quiet else wait_for_quiet(wait_for_quiet_s, progress)
        plan = _with_facts(plan, moment=encoded(moment))

        def more(record: Recording) -> None:
            last = at_the_end(notes, progress)
            for block in ready.more_blocks(plan, asked["budget_s"], last):
                record.append(block)

        record = recorded_run(plan, out, progress, kind=ready.kind, more=more)
    ready.finished(record, notes)
    return record


def _settings(benchmark: Benchmark, settings: Settings) -> dict[str, Any]:
    """The settings of the plan with their defaults."""
    asked = complete_settings({**settings, **benchmark.measuring})
    if settings.get("timeout_s") is None:
        asked["timeout_s"] = max(benchmark.least_timeout_s, 3 * asked["budget_s"])
    return asked


def _recorded_trials(
    benchmark: Benchmark,
    asked: Mapping[str, Any],
    progress: Progress | None,
    out: str | Path | None,
) -> Record:
    """The result of a benchmark that times nothing: a block for each group of its trials."""
    jobs = benchmark.jobs()
    groups = list(dict.fromkeys(job.group for job in jobs))
    with recording(benchmark.kind, benchmark.settings, out) as record:
        for done, group in enumerate(groups):
            if progress:
                progress(done / len(groups), group)
            own_jobs = [job for job in jobs if job.group == group]
            tried = trials(own_jobs, asked["timeout_s"], Notes())
            record.append(benchmark.block(group, list(tried)))
        return record.finish()


def benchmark_plan(
    benchmark: Benchmark,
    notes: Notes | None = None,
    **settings: Unpack[Settings],
) -> Plan:
    """Try every job of a benchmark that is prepared, and plan those that give right results.

    Raises `Wrong` or `Deep500Error` with the first reason if none does.
    """
    notes = notes or Notes()
    asked = _settings(benchmark, settings)
    jobs = benchmark.jobs()
    pace = _pace(benchmark, jobs, asked["budget_s"], notes)
    tried = []
    for trial in trials(jobs, asked["timeout_s"], notes):
        pace.step(trial.state == "ok")
        tried.append(trial)
    tried = together(tried)
    # About what the first processes will need before their first sample; they share what was computed.
    starting_s = pace.elapsed_s - _shared_s(tried)
    good = [trial for trial in tried if trial.state == "ok"]
    if not good:
        raise nothing_to_time(tried)
    benchmark.check_trials(tried)
    about = benchmark.about(tried, notes)
    asked["budget_s"] += starting_s
    plan = plan_of([*map(_entry, good)], _factors(good), asked)
    return _with_facts(
        replace(plan, user_imports=False),
        **about,
        wrong=reasons(tried, "wrong"),
        left_out=reasons(tried, "unsupported"),
    )


def _pace(
    benchmark: Benchmark, jobs: Sequence[Any], budget_s: float, notes: Notes
) -> Pace:
    groups = {job.group for job in jobs}
    return Pace(len(jobs), len(groups), budget_s, benchmark.smaller, notes.tell)


def _entry(trial: Trial) -> PlanEntry:
    job = trial.job.timed(trial.result)
    work = trial.job.work(trial.result)
    return PlanEntry(trial.name, job, job.levels, group=job.group, work=work)


def _factors(trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """The levels of every factor, in the order in which they occur."""
    levels = {}
    for factor in trials[0].job.levels:
        occurring = [trial.job.levels[factor] for trial in trials]
        levels[factor] = list(dict.fromkeys(occurring))
    return levels


def _shared_s(trials: Sequence[Trial]) -> float:
    """How long it took to compute what all processes share."""
    return sum(trial.result.get("shared_s", 0.0) for trial in trials)


def _with_facts(plan: Plan, **facts: Any) -> Plan:
    return replace(plan, about={**plan.about, **facts})
