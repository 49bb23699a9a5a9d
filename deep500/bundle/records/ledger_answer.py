"""Compares a bundle with this machine's ledger: whether its manifest is the one that the run wrote."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ...errors import Deep500Error
from .. import Bundle
from .ledger import Ledger, LedgerRun

AGREES = "the ledger knows this run and agrees"
CHANGED = "the ledger knows this manifest, but the bundle is not as the run left it"
UNKNOWN = "the ledger does not know it"
# what became of a run, by its state in the ledger
STATES = {
    "finished": "it is finished",
    "failed": "it failed",
    "interrupted": "it was interrupted",
    "running": "it is running",
    "unfinished": "it is unfinished",
}


@dataclass(frozen=True)
class LedgerAnswer:
    """The ledger agrees with a bundle, contradicts it, does not know it, or cannot be read."""

    word: Literal["agrees", "differs", "unknown", "unreadable"]
    sentence: str

    @property
    def problems(self) -> list[str]:
        return [self.sentence] if self.word == "differs" else []


def ledger_answer(bundle: Bundle) -> LedgerAnswer:
    """Compare a bundle with the run in the ledger that wrote it."""
    try:
        runs = Ledger().runs()
    except Deep500Error as error:
        return LedgerAnswer("unreadable", f"the ledger cannot be asked: {error}")
    if bundle.hash and any(run.manifest == bundle.hash for run in runs):
        if bundle.problems:
            return LedgerAnswer("differs", CHANGED)
        return LedgerAnswer("agrees", AGREES)
    run = _run_of(bundle, runs)
    if run is None:
        return LedgerAnswer("unknown", UNKNOWN + _meanwhile(bundle, runs))
    if run.manifest is None:
        return LedgerAnswer(
            "unknown",
            f"the ledger has no hash of run {run.run}: {STATES[run.state]}",
        )
    return LedgerAnswer("differs", _difference(bundle, run))


def checked_ledger_answer(bundle: Bundle) -> LedgerAnswer:
    """Like `ledger_answer`, but the sentence also reports whether the ledger itself is broken."""
    answer = ledger_answer(bundle)
    if answer.word == "unreadable":
        return answer
    ledger_problems = Ledger().problems()
    if not ledger_problems:
        return answer
    sentence = f"{answer.sentence}; but the ledger is broken: {ledger_problems[0]}"
    return replace(answer, sentence=sentence)


def _difference(bundle: Bundle, run: LedgerRun) -> str:
    recorded = f"the ledger differs: run {run.run} finished at {run.ended} with manifest {run.manifest}"
    if not bundle.finished:
        return f"{recorded}, and here is none: it was taken away"
    if bundle.hash is None:
        return f"{recorded}, and the one here is damaged"
    return f"{recorded}, here it is {bundle.hash}: resealed after that, or replaced"


def _run_of(bundle: Bundle, runs: Sequence[LedgerRun]) -> LedgerRun | None:
    """The last run into this folder, else the run with this plan during which the bundle was created."""
    folder = bundle.path.absolute()
    for run in runs:
        if _is_same_folder(Path(run.folder), folder):
            return run
    plan_hash = bundle.hashes.get("plan.json")
    for run in runs:
        if run.plan == plan_hash and _is_during(bundle.created, run):
            return run
    return None


def _meanwhile(bundle: Bundle, runs: Sequence[LedgerRun]) -> str:
    """A run of this kind that was going on when the bundle was created here, with another plan and manifest."""
    for run in runs:
        if run.kind == bundle.kind and _is_during(bundle.created, run):
            return (
                f"; but run {run.run} of the same kind was going on here when it was created, with another plan "
                f"and manifest {run.manifest}"
            )
    return ""


def _is_same_folder(a: Path, b: Path) -> bool:
    if a == b:
        return True
    return a.name == b.name and os.path.realpath(a) == os.path.realpath(b)


def _is_during(created: str, run: LedgerRun) -> bool:
    """Whether a time lies within a run, compared to the second; all times are in UTC and in the same format."""
    if run.ended is None:
        return False
    to_the_second = len("2026-01-01T00:00:00")
    start, end = run.started[:to_the_second], run.ended[:to_the_second]
    return start <= created[:to_the_second] <= end
