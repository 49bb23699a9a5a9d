"""The failures that ranks leave for their launcher, which reports one of them: MPI may drop what a rank prints."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ..contracts.transport import RankFailure
from ..errors import Deep500Error

# the folder in which ranks leave what they say, for the launcher that made it
FOLDER = "DEEP500_RANK_ERRORS"


@dataclass(frozen=True)
class LeftFailure:
    """The message with which a rank ends; `own` unless it is that another rank is lost or has failed."""

    rank: int
    message: str
    own: bool


def leave_failure(rank: int, error: Deep500Error) -> bool:
    """Leave a failure for the launcher; False if there is none that would read it."""
    if FOLDER not in os.environ:
        return False
    failure = LeftFailure(rank, str(error), not isinstance(error, RankFailure))
    folder = Path(os.environ[FOLDER])
    unfinished = folder / f"unfinished-{rank}"
    unfinished.write_text(json.dumps(asdict(failure)))
    unfinished.rename(folder / f"failed-{rank}")
    return True


def left_failures(folder: Path) -> list[LeftFailure]:
    """What ranks have left, those that name their own error first."""
    failures = []
    for file in folder.glob("failed-*"):
        failures.append(LeftFailure(**json.loads(file.read_text())))
    return sorted(failures, key=lambda failure: (not failure.own, failure.rank))


def first_own(failures: Sequence[LeftFailure]) -> LeftFailure | None:
    """The failure that explains the others, if any rank knows it."""
    return next((failure for failure in failures if failure.own), None)
