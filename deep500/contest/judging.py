"""Judges a sealed submission: seeds are drawn now, and every one counts; a bundle for the board, or a refusal."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..bundle.records.recording import recording
from ..contracts.recipe import Recipe
from ..errors import Deep500Error
from ..hashing.canonical_form import form_hash
from ..hashing.own_code import fixed_form_hash
from ..reports.text import clean
from ..training.planning import make_plan
from .definition import RESULTS, RULES, Folder, Line, now
from .evaluation import Evaluation
from .referee import Referee, SeedRun, contest_hash
from .submissions import Submission, attempts, sealed

SEED_BITS = 31
UNMEASURED = "the judge measures time, weights and qualities alone"
MEASURED_NEEDS = ("real time",)


@dataclass(frozen=True)
class Judgement:
    """What became of a submission."""

    entry: str
    accepted: bool
    reason: str
    layer: str = ""
    bundle: Path | None = None


def waiting(folder: Folder, entry: str | None = None) -> list[Line]:
    """The submissions that are not judged yet, in the order in which they came."""
    lines, _ = folder.log.read()
    done = {line.submission for line in lines if line.event in ("judged", "refused")}
    found = []
    for line in lines:
        is_wanted = entry is None or line.entry == entry
        if line.event == "submitted" and is_wanted and line.submission not in done:
            found.append(line)
    return found


def judge(folder: Folder, line: Line) -> Judgement:
    """Run one submission from the organiser's own copy of everything, and note what became of it."""
    submission = sealed(folder, line)
    seeds = _drawn(folder.contest.seeds)
    # noted before anything runs, so that a second draw would show
    folder.log.append(
        [Line(now(), "drawn", line.entry, line.division, line.submission, seeds=seeds)]
    )
    recipe = _judged_recipe(folder, submission)
    referee = Referee(folder, submission, Evaluation(recipe))
    plan = make_plan(recipe, folder.contest.tier, seeds, folder.contest.threads)
    runs: list[SeedRun] = []
    for seed in seeds:
        run = referee.run(seed, plan["epochs"])
        runs.append(run)
        if run.declared is None or not run.blocks or run.layer == "weights":
            return _refused(folder, line, run)
    if _same_weights(runs):
        reason = "two seeds ended with the same weights: they were not trained from those of their seed"
        return _refuse(folder, line, "seeds", reason)
    return _recorded(folder, line, submission, referee, plan, runs)


def _drawn(count: int) -> list[int]:
    """As many different seeds, which nobody could know before."""
    seeds: set[int] = set()
    while len(seeds) < count:
        seeds.add(secrets.randbits(SEED_BITS))
    return sorted(seeds)


def _judged_recipe(folder: Folder, submission: Submission) -> Recipe:
    """The organiser's recipe, with the entries of FIXED that an open submission changes by plain values."""
    recipe = folder.recipe()
    if submission.division == "open":
        recipe = recipe.with_settings(submission.fixed, "open")
    return recipe.at_tier(folder.contest.tier)


def _same_weights(runs: Sequence[SeedRun]) -> bool:
    weights = [run.weights for run in runs if run.weights]
    return len({*weights}) < len(weights)


def _refused(folder: Folder, line: Line, run: SeedRun) -> Judgement:
    reason = run.failure or "it handed over no weights"
    return _refuse(folder, line, run.layer or "process", f"seed {run.seed}: {reason}")


def _refuse(folder: Folder, line: Line, layer: str, reason: str) -> Judgement:
    said = clean(reason)[:500]
    refused = Line(
        now(), "refused", line.entry, line.division, line.submission, said, layer
    )
    folder.log.append([refused])
    return Judgement(line.entry, False, said, layer)


def _recorded(
    folder: Folder,
    line: Line,
    submission: Submission,
    referee: Referee,
    plan: dict[str, Any],
    runs: Sequence[SeedRun],
) -> Judgement:
    """Write the bundle: a run of the recipe in which every number is the judge's."""
    lines, _ = folder.log.read()
    attempt = attempts(lines, line.entry)
    name = line.entry if attempt == 1 else f"{line.entry}-{attempt}"
    target = folder.path / RESULTS / name
    complete = _complete_plan(folder, submission, referee, plan, runs, attempt)
    with recording(
        "recipe", complete, target, name=name, subject=complete["fixed_hash"]
    ) as record:
        files = {}
        for run in runs:
            for block in run.blocks:
                record.append(block)
            if not _has_ended(run):
                record.append(_crash(run))
            else:
                files[f"weights-{run.seed}.safetensors"] = run.weights
        finished = record.finish(files=files)
    judged = Line(
        now(),
        "judged",
        line.entry,
        line.division,
        line.submission,
        manifest=finished.hash,
    )
    folder.log.append([judged])
    good = sum(map(_has_ended, runs))
    reason = f"{good} of {len(runs)} seeds were trained to the end"
    return Judgement(line.entry, True, reason, bundle=target)


def _has_ended(run: SeedRun) -> bool:
    return bool(run.blocks) and "test" in run.blocks[-1]


def _crash(run: SeedRun) -> dict[str, Any]:
    reason = clean(f"{run.layer}: {run.failure}")[:300]
    return {"seed": run.seed, "crashed": reason, "build_seconds": 0.0}


def _complete_plan(
    folder: Folder,
    submission: Submission,
    referee: Referee,
    plan: dict[str, Any],
    runs: Sequence[SeedRun],
    attempt: int,
) -> dict[str, Any]:
    """The plan with what the submission declared as MUTABLE, its files, and how it was judged."""
    declared = runs[0].declared
    if declared is None:
        raise Deep500Error("a submission that declared nothing has no result")
    recipe = dict(plan["recipe"])
    recipe["mutable"] = dict(declared.mutable)
    recipe["code"] = _code(recipe, submission)
    splits = referee.evaluation.splits
    digests = {name: split.digest() for name, split in splits.items()}
    complete = plan | {
        "recipe": recipe,
        "hash": form_hash(recipe),
        "fixed_hash": fixed_form_hash(recipe),
        "sources": _fixed_sources(plan),
        "unavailable": _unavailable(referee.evaluation.recipe),
        "framework": clean(declared.framework),
        "kernels": {},
        "update": "submission",
        "data": digests,
        "examples": {name: len(split) for name, split in splits.items()},
        "judge": {
            "contest": contest_hash(folder),
            "submission": submission.digest,
            "attempt": attempt,
            "rules": RULES,
            "layers": dict(declared.layers),
            "step": "an epoch, by the judge's clock: from handing out the data to weights received",
        },
    }
    return complete


def _code(recipe: dict[str, Any], submission: Submission) -> dict[str, Any]:
    """The files of the submission beside those of the organiser, with their SHA-256."""
    import hashlib

    known = recipe.get("code", {"files": {}, "fixed": {}})
    files = dict(known["files"])
    for name, data in submission.files.items():
        files[f"submission/{name}"] = hashlib.sha256(data).hexdigest()
    return {"files": files, "fixed": dict(known["fixed"])}


def _fixed_sources(plan: dict[str, Any]) -> dict[str, Any]:
    fixed = plan["recipe"]["fixed"]
    return {key: value for key, value in plan["sources"].items() if key in fixed}


def _unavailable(recipe: Recipe) -> dict[str, str]:
    """The needs of metrics that the judge does not measure."""
    reasons = {}
    for metric in recipe.all_metrics():
        for need in metric.needs:
            if need not in MEASURED_NEEDS:
                reasons[need] = UNMEASURED
    return reasons
