"""What a contest is: a folder with contest.json, the organiser's recipe, the log, submissions and results."""

import hashlib
import json
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from ..board.roles import named_score
from ..bundle import canonical
from ..bundle.chained_log import ChainedLog
from ..contracts.recipe import Recipe
from ..errors import Deep500Error
from ..rerun.recipe_files import load_recipe
from ..results.outcomes.metric_text import words_for_metric
from ..schema import Between, Length, Positive, decoded, encoded, optional
from ..supervision.sandbox import Limits
from .rules_text import RULES_FILE, rules_text

FORMAT = 1
CONTEST = "contest.json"
RECIPE = "recipe.py"
LOG = "contest.jsonl"
SUBMISSIONS = "submissions"
RESULTS = "results"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
RULES = 1  # counts up when the same submission would be judged by other rules

Division = Literal["closed", "open"]
Event = Literal["opened", "submitted", "drawn", "judged", "refused", "undecided"]
Seconds = Annotated[float, Between(0.1, 1e6)]


@dataclass(frozen=True)
class Contest:
    """What the organiser decides before the first submission."""

    format: int
    name: str
    recipe: str  # the SHA-256 of recipe.py
    divisions: Annotated[Sequence[Division], Length(2, 1)]
    seeds: Annotated[int, Between(1, 1001)]
    tier: str
    threads: Annotated[int, Between(1, 4097)]
    seconds: Seconds  # for one seed, everything included
    load_seconds: Seconds  # for a process to load frameworks and the submission
    memory_mib: Positive
    processes: Positive
    disk_mib: Positive
    submission_kib: Positive
    kind: Literal["recipe", "kernel"] = "recipe"
    # of kernels: in each process, and calls in each visit
    visits: Annotated[int, Between(2, 1001)] = 5
    calls: Annotated[int, Between(1, 100_001)] = 20
    # the score that ranks; None: the board's own choice
    scored: str | None = optional()

    @property
    def limits(self) -> Limits:
        return Limits(self.seconds, self.memory_mib, self.processes, self.disk_mib)


@dataclass(frozen=True)
class LogLine:
    """One line of the contest's log."""

    at: str
    event: Event
    entry: str = ""
    division: Division = "closed"
    submission: str = ""  # the SHA-256 of what was submitted
    reason: str = ""  # of a refusal, or why nothing was decided
    layer: str = ""  # what stopped a submission that is refused
    seeds: Sequence[int] = field(default_factory=tuple)
    manifest: str | None = optional()


@dataclass(frozen=True)
class ContestFolder:
    """An opened contest."""

    path: Path
    contest: Contest

    @property
    def log(self) -> ChainedLog[LogLine]:
        return ChainedLog(self.path / LOG, LogLine)

    @property
    def recipe_file(self) -> Path:
        return self.path / RECIPE

    def recipe(self) -> Recipe:
        """The organiser's recipe, under the name of the contest."""
        self.check_recipe()
        return replace(load_recipe(self.recipe_file), name=self.contest.name)

    def check_recipe(self) -> None:
        """Raise a Deep500Error if the organiser's file is not the one that the contest began with."""
        digest = hashlib.sha256(self.recipe_file.read_bytes()).hexdigest()
        if digest != self.contest.recipe:
            raise Deep500Error(
                f"{self.recipe_file} was changed after the contest was opened: its SHA-256 is {digest[:12]}…, and "
                f"{CONTEST} has {self.contest.recipe[:12]}…"
            )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def create(path: Path, recipe: Path, contest: Contest) -> ContestFolder:
    """Open a contest in a new folder: nothing is run but the organiser's own recipe, once, to see that it is one."""
    if path.exists():
        return _the_same(path, contest)
    loaded = load_recipe(recipe) if contest.kind == "recipe" else None
    if loaded is not None and contest.scored is not None:
        names = []
        for metric, _ in loaded.metrics:
            names.append(words_for_metric(type(metric).__name__, metric.settings))
        named_score(contest.scored, names)
    try:
        path.mkdir(parents=True)
        shutil.copyfile(recipe, path / RECIPE)
        for name in (SUBMISSIONS, RESULTS):
            (path / name).mkdir()
        (path / CONTEST).write_bytes(canonical(encoded(contest)))
        rules = rules_text(contest, loaded)
        (path / RULES_FILE).write_text(rules, encoding="utf-8")
    except OSError as error:
        raise Deep500Error(f"{path} cannot be written: {error.strerror}") from None
    folder = ContestFolder(path, contest)
    digest = hashlib.sha256((path / CONTEST).read_bytes()).hexdigest()
    folder.log.append([LogLine(now(), "opened", reason=f"contest.json {digest}")])
    return folder


def _the_same(path: Path, contest: Contest) -> ContestFolder:
    """The contest that is there, if it was opened by the same decisions."""
    if (path / CONTEST).is_file():
        folder = open_folder(path)
        if encoded(folder.contest) == encoded(contest):
            return folder
    raise Deep500Error(f"{path} exists already: a contest begins in a new folder")


@dataclass(frozen=True)
class JudgedResults:
    """The results of a contest: the manifests that its judge has written, and what ranks them."""

    manifests: Collection[str]
    scored: str | None


def judged_results(results: Path) -> JudgedResults | None:
    """What belongs on the board of this folder, if it holds the results of a contest; else None."""
    path = results.absolute().parent
    if results.name != RESULTS or not (path / CONTEST).is_file():
        return None
    folder = open_folder(path)
    lines, _ = folder.log.read()
    manifests = {line.manifest for line in lines if line.manifest is not None}
    return JudgedResults(manifests, folder.contest.scored)


def open_folder(path: Path) -> ContestFolder:
    """An existing contest; raises a Deep500Error if contest.json was changed after it was opened."""
    file = path / CONTEST
    try:
        data = file.read_bytes()
        document = json.loads(data)
    except (OSError, ValueError, RecursionError):
        raise Deep500Error(
            f"{path} is no contest: it has no {CONTEST} that can be read; `d5 contest init` makes one"
        ) from None
    contest = decoded(Contest, document, str(file))
    if contest.format != FORMAT:
        raise Deep500Error(
            f"{file} has format {contest.format}, and this version reads {FORMAT}"
        )
    folder = ContestFolder(path, contest)
    lines, _ = folder.log.read()
    digest = hashlib.sha256(data).hexdigest()
    if not lines or lines[0].reason != f"contest.json {digest}":
        raise Deep500Error(f"{file} is not the one that the contest was opened with")
    return folder
