"""Judges a sealed kernel: beside the organiser's reference, visit by visit, into a bundle that the board takes."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..bundle import begun
from ..bundle.encoding import MANIFEST
from ..bundle.records.recording import DOCUMENTS, recording
from ..reports.text import counted
from ..results.kernel_contest import KernelPlan
from ..training.recipe_plan import JudgeForm
from .definition import RESULTS, RULES, ContestFolder, LogLine, now
from .evaluation import Refusal
from .kernel_referee import KernelReferee
from .referee import contest_hash
from .submissions import Submission, attempts

LEVEL, MARGIN = 0.95, 0.02


@dataclass(frozen=True)
class RefereeJudgement:
    """What became of a submission."""

    entry: str
    accepted: bool
    reason: str
    layer: str = ""
    bundle: Path | None = None
    # layers of the sandbox that this system does not permit
    missing: Sequence[str] = ()
    # False if the judge failed, and not the submission: it is judged again
    decided: bool = True


def result_folder(folder: ContestFolder, name: str) -> Path:
    """Where the bundle of an entry goes; what a judge that was ended has left there is removed."""
    target = folder.path / RESULTS / name
    if begun(target, DOCUMENTS) and not (target / MANIFEST).exists():
        shutil.rmtree(target)
    return target


def judged_kernel(
    folder: ContestFolder,
    line: LogLine,
    submission: Submission,
    seeds: Sequence[int],
) -> RefereeJudgement:
    """Every visit of every pair of processes; a Refusal at the first wrong answer, or time that no machine reaches."""
    contest = folder.contest
    folder.check_recipe()
    referee = KernelReferee(folder, submission)
    visits = [*referee.run(seeds[0], 2, contest.calls)]
    lines, _ = folder.log.read()
    attempt = attempts(lines, line.entry)
    plan = KernelPlan(
        name=contest.name,
        entry=line.entry,
        problem=contest.recipe,
        calls=contest.calls,
        visits=contest.visits,
        seeds=seeds,
        level=LEVEL,
        margin=MARGIN,
        floor_ns=referee.floor_ns(contest.calls),
        judge=JudgeForm(
            contest_hash(folder), submission.digest, attempt, RULES, referee.layers
        ),
    )
    name = line.entry if attempt == 1 else f"{line.entry}-{attempt}"
    target = result_folder(folder, name)
    with recording(
        "kernel_contest", plan, target, name=name, subject=contest.recipe
    ) as record:
        for seed in seeds:
            for visit in referee.run(seed, contest.visits, contest.calls):
                _check_floor(plan, visit.submission_ns)
                record.append(visit)
        finished = record.finish()
    folder.log.append(
        [
            LogLine(
                now(),
                "judged",
                line.entry,
                line.division,
                line.submission,
                manifest=finished.hash,
            )
        ]
    )
    missing = [name for name, how in referee.layers.items() if how.startswith("none")]
    runs = counted(len(seeds), "seed")
    visits_made = counted(len(record.blocks), "visit")
    reason = f"{runs}, {visits_made}, all answers right"
    assert visits
    return RefereeJudgement(line.entry, True, reason, bundle=target, missing=missing)


def _check_floor(plan: KernelPlan, ns: int) -> None:
    per_call = ns / plan.calls
    if per_call < plan.floor_ns:
        raise Refusal(
            "floor",
            f"a call took {per_call:.4g} ns, and to move its data takes {plan.floor_ns:.4g} ns",
        )
