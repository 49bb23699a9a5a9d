"""What this machine's ledger says of a bundle: whether its manifest is the one that the run left behind."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ..bundle import Bundle
from ..errors import Deep500Error
from .ledger import Ledger, Run

AGREES = "the ledger knows this run and agrees"
CHANGED = "the ledger knows this manifest, but the bundle is not as the run left it"
UNKNOWN = "the ledger does not know it"


@dataclass(frozen=True)
class Testimony:
    """The ledger agrees with a bundle, contradicts it, does not know it, or cannot be read."""

    word: Literal["agrees", "differs", "unknown", "unreadable"]
    sentence: str

    @property
    def problems(self) -> list[str]:
        return [self.sentence] if self.word == "differs" else []


def testimony(found: Bundle) -> Testimony:
    """Ask the ledger for the run that left this bundle."""
    try:
        runs = Ledger().runs()
    except Deep500Error as error:
        return Testimony("unreadable", f"the ledger cannot be asked: {error}")
    if found.hash and any(run.manifest == found.hash for run in runs):
        return (
            Testimony("differs", CHANGED)
            if found.problems
            else Testimony("agrees", AGREES)
        )
    run = _run_of(found, runs)
    if run is None:
        return Testimony("unknown", UNKNOWN)
    if run.manifest is None:
        return Testimony(
            "unknown", f"the ledger has no hash of run {run.run}: it is {run.state}"
        )
    return Testimony("differs", _difference(found, run))


def checked_testimony(found: Bundle) -> Testimony:
    """As `testimony`, and whether the ledger itself holds together."""
    said = testimony(found)
    broken = [] if said.word == "unreadable" else Ledger().problems()
    if not broken:
        return said
    return replace(
        said, sentence=f"{said.sentence}; but the ledger is broken: {broken[0]}"
    )


def _difference(found: Bundle, run: Run) -> str:
    left = f"the ledger differs: run {run.run} finished at {run.ended} with manifest {run.manifest}"
    if not found.finished:
        return f"{left}, and here is none: it was taken away"
    if found.hash is None:
        return f"{left}, and the one here is damaged"
    return f"{left}, here it is {found.hash}: resealed after that, or replaced"


def _run_of(found: Bundle, runs: Sequence[Run]) -> Run | None:
    """The last run into this folder, else the run with this plan during which the bundle was created."""
    place = found.path.absolute()
    for run in runs:
        if _is_same_folder(Path(run.folder), place):
            return run
    for run in runs:
        if run.plan == found.hashes.get("plan.json") and _is_during(found.created, run):
            return run
    return None


def _is_same_folder(a: Path, b: Path) -> bool:
    return a == b or (a.name == b.name and os.path.realpath(a) == os.path.realpath(b))


def _is_during(created: str, run: Run) -> bool:
    """Whether a moment lies within a run, to the second; all are in UTC and of one form."""
    to_the_second = len("2026-01-01T00:00:00")
    start, moment = run.started[:to_the_second], created[:to_the_second]
    return run.ended is not None and start <= moment <= run.ended[:to_the_second]
