"""Contests for tests: opened in a folder, taken part in, judged."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deep500.contest.definition import FORMAT, Contest, ContestFolder, create
from deep500.contest.judging import RefereeJudgement, judge, waiting
from deep500.contest.submissions import submit
from deep500.hashing.imported_files import file_hashes

HERE = Path(__file__).parent
ORGANISER = HERE / "organiser.py"
HONEST = HERE / "honest.py"


def contest(**changes: Any) -> Contest:
    """A small one: one seed, little time, little of everything."""
    settings: dict[str, Any] = {
        "format": FORMAT,
        "name": "cup",
        "recipe": file_hashes({"recipe": ORGANISER})["recipe"],
        "divisions": ("closed", "open"),
        "seeds": 1,
        "tier": "small",
        "threads": 1,
        "seconds": 30.0,
        "load_seconds": 60.0,
        "memory_mib": 1024,
        "processes": 32,
        "disk_mib": 32,
        "submission_kib": 64,
    }
    return Contest(**settings | changes)


def opened(path: Path, **changes: Any) -> ContestFolder:
    return create(path, ORGANISER, contest(**changes))


@dataclass(frozen=True)
class Outcome:
    """What became of a submission, and the numbers of its bundle."""

    judgement: RefereeJudgement
    bundle: Path | None

    def document(self, name: str) -> Any:
        assert self.bundle is not None, self.judgement
        return json.loads((self.bundle / name).read_text())

    @property
    def accuracy(self) -> float | None:
        [accuracy, *_] = self.document("derived.json")["metrics"]
        return accuracy["values"][0]

    @property
    def seconds(self) -> float:
        """The time of all epochs of the first seed, by the judge's clock."""
        [total, *_] = self.document("derived.json")["seconds"]
        return total

    @property
    def failed(self) -> list[str]:
        return [seed["reason"] for seed in self.document("derived.json")["failed"]]


def judged(folder: ContestFolder, file: Path, division: Any = "closed") -> Outcome:
    """Hand a submission in, and have it judged."""
    submit(folder, file, file.stem, division)
    [line] = waiting(folder, file.stem)
    judgement = judge(folder, line)
    return Outcome(judgement, judgement.bundle)
