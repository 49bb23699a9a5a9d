"""Judges a sealed submission: seeds are drawn now, and every one counts; a bundle for the board, or a refusal."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..bundle.records.recording import recording
from ..contracts.recipe import Recipe
from ..errors import Wrong, one_line
from ..hashing.canonical_form import form_hash
from ..hashing.own_code import fixed_form_hash
from ..reports.text import clean
from ..training.planning import plan_here
from ..training.recipe_plan import JudgeForm, OwnFiles, RecipePlan
from .definition import RULES, ContestFolder, LogLine, now
from .evaluation import Refusal, WeightsEvaluation
from .kernel_judging import RefereeJudgement, judged_kernel, result_folder
from .messages import Declared
from .referee import Referee, SeedRun, contest_hash
from .sandboxed_child import NotDecided
from .submissions import Submission, attempts, sealed

SEED_BITS = 31
UNMEASURED = "the judge measures time, weights and qualities alone"
MEASURED_NEEDS = ("real time",)


def waiting(folder: ContestFolder, entry: str | None = None) -> list[LogLine]:
    """The submissions that are not judged yet, in the order in which they came."""
    lines, _ = folder.log.read()
    done = {line.submission for line in lines if line.event in ("judged", "refused")}
    found = []
    for line in lines:
        is_wanted = entry is None or line.entry == entry
        if line.event == "submitted" and is_wanted and line.submission not in done:
            found.append(line)
    return found


def judge(folder: ContestFolder, line: LogLine) -> RefereeJudgement:
    """Run one submission from the organiser's own copy of everything, and note what became of it."""
    try:
        submission = sealed(folder, line)
    except Wrong as error:
        return _refuse(folder, line, Refusal("seal", str(error)))
    seeds = _drawn(folder.contest.seeds)
    # noted before anything runs, so that a second draw would show
    folder.log.append(
        [
            LogLine(
                now(), "drawn", line.entry, line.division, line.submission, seeds=seeds
            )
        ]
    )
    try:
        if folder.contest.kind == "kernel":
            return judged_kernel(folder, line, submission, seeds)
        return _judged(folder, line, submission, seeds)
    except Refusal as refusal:
        return _refuse(folder, line, refusal)
    except (NotDecided, OSError) as error:
        return _undecided(folder, line, error)


def _judged(
    folder: ContestFolder, line: LogLine, submission: Submission, seeds: Sequence[int]
) -> RefereeJudgement:
    """The bundle of a submission: a run of the recipe in which every number is the judge's."""
    recipe = _judged_recipe(folder, submission)
    referee = Referee(folder, submission, WeightsEvaluation(recipe))
    declared = referee.declared()
    lines, _ = folder.log.read()
    attempt = attempts(lines, line.entry)
    plan = plan_here(recipe, folder.contest.tier, seeds, folder.contest.threads)
    complete = _judged_plan(folder, referee, plan, declared, attempt)
    name = line.entry if attempt == 1 else f"{line.entry}-{attempt}"
    target = result_folder(folder, name)
    with recording(
        "recipe", complete, target, name=name, subject=complete.fixed_hash or ""
    ) as record:
        runs = []
        for seed in seeds:
            run = referee.run(seed, plan.epochs, declared)
            runs.append(run)
            _check(runs)
            for block in run.blocks:
                record.append(block)
            if not run.has_ended:
                record.append(_crash(run))
        files = {
            f"weights-{run.seed}.safetensors": run.weights
            for run in runs
            if run.has_ended
        }
        finished = record.finish(files=files)
    judged = LogLine(
        now(),
        "judged",
        line.entry,
        line.division,
        line.submission,
        manifest=finished.hash,
    )
    folder.log.append([judged])
    good = sum(run.has_ended and not run.failure for run in runs)
    reason = f"{good} of {len(runs)} seeds were trained to the end"
    missing = [name for name, how in referee.layers.items() if how.startswith("none")]
    return RefereeJudgement(line.entry, True, reason, bundle=target, missing=missing)


def _check(runs: Sequence[SeedRun]) -> None:
    """Raise a Refusal if nothing was trained, or not from the initial weights of each seed."""
    first = runs[0]
    if not first.blocks:
        raise Refusal(first.layer, first.failure)
    weights = [run.weights for run in runs if run.weights]
    if len({*weights}) < len(weights):
        raise Refusal(
            "seeds",
            "two seeds ended with the same weights: they were not trained from those of their seed",
        )


def _drawn(count: int) -> list[int]:
    """As many different seeds, which nobody could know before."""
    seeds: set[int] = set()
    while len(seeds) < count:
        seeds.add(secrets.randbits(SEED_BITS))
    return sorted(seeds)


def _judged_recipe(folder: ContestFolder, submission: Submission) -> Recipe:
    """The organiser's recipe, with the entries of FIXED that an open submission changes by plain values."""
    recipe = folder.recipe()
    if submission.division == "open":
        recipe = recipe.with_settings(submission.fixed, "open")
    return recipe.at_tier(folder.contest.tier)


def _refuse(folder: ContestFolder, line: LogLine, refusal: Refusal) -> RefereeJudgement:
    said = clean(refusal)[:500]
    layer = refusal.layer
    refused = LogLine(
        now(), "refused", line.entry, line.division, line.submission, said, layer
    )
    folder.log.append([refused])
    return RefereeJudgement(line.entry, False, said, layer)


def _undecided(
    folder: ContestFolder, line: LogLine, error: Exception
) -> RefereeJudgement:
    """Note that nothing was decided, and why; the submission waits for the next judging."""
    said = clean(one_line(error, 500))
    undecided = LogLine(
        now(), "undecided", line.entry, line.division, line.submission, said
    )
    folder.log.append([undecided])
    return RefereeJudgement(line.entry, False, said, decided=False)


def _crash(run: SeedRun) -> dict[str, Any]:
    reason = clean(f"{run.layer}: {run.failure}")[:300]
    return {"seed": run.seed, "crashed": reason, "build_seconds": 0.0}


def _judged_plan(
    folder: ContestFolder,
    referee: Referee,
    plan: RecipePlan,
    declared: Declared,
    attempt: int,
) -> RecipePlan:
    """The plan with MUTABLE as the submission declares it, its files, and how it was judged."""
    submission = referee.submission
    code = _code(plan.recipe.code, submission)
    recipe = replace(plan.recipe, mutable=declared.mutable, code=code)
    splits = referee.evaluation.splits
    fixed_sources = {
        key: source for key, source in plan.sources.items() if key in plan.recipe.fixed
    }
    return replace(
        plan,
        recipe=recipe,
        hash=form_hash(recipe.document),
        fixed_hash=fixed_form_hash(recipe.document),
        sources=fixed_sources,
        unavailable=_unavailable(referee.evaluation.recipe),
        framework=clean(declared.framework),
        data={name: split.digest() for name, split in splits.items()},
        examples={name: len(split) for name, split in splits.items()},
        judge=JudgeForm(
            contest=contest_hash(folder),
            submission=submission.digest,
            attempt=attempt,
            rules=RULES,
            layers=referee.layers,
        ),
    )


def _code(known: OwnFiles, submission: Submission) -> OwnFiles:
    """The files of the submission beside those of the organiser, with their SHA-256."""
    files = dict(known.files)
    for name, data in submission.files.items():
        files[f"submission/{name}"] = hashlib.sha256(data).hexdigest()
    return OwnFiles(files, known.fixed)


def _unavailable(recipe: Recipe) -> dict[str, str]:
    """The needs of metrics that the judge does not measure."""
    reasons = {}
    for metric in recipe.all_metrics():
        for need in metric.needs:
            if need not in MEASURED_NEEDS:
                reasons[need] = UNMEASURED
    return reasons
