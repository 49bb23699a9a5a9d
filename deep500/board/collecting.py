"""Reads the bundles of a folder: what can be ranked, and why the others cannot."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..bundle import read
from ..bundle.encoding import MANIFEST
from ..bundle.records.loading import one_line, record_of
from ..contracts.result import Record
from ..contracts.standing import Contestant
from ..errors import Deep500Error
from ..hashing.canonical_form import form_hash
from ..reports.text import clean
from .machine_class import MachineClass, environment_of, machine_class, versions

MOST_BUNDLES = 10_000


@dataclass(frozen=True)
class Candidate:
    """Something that can be ranked: a bundle that verifies, or one entry of it."""

    entry: str  # unique on the board: the name of the bundle, and of its entry if it has several
    bundle: str
    path: Path
    manifest: str
    created: str
    record: Record
    contestant: Contestant
    machine: MachineClass
    versions: dict[str, str]

    @property
    def league(self) -> str:
        """Candidates of one league are ranked with each other."""
        standing = self.contestant.standing
        league = {"league": standing.league, "machine": self.machine.key}
        return form_hash(league)[:16]

    @property
    def series(self) -> str:
        """Results of one series differ in nothing but time, software and the state of the machine."""
        standing = self.contestant.standing
        series = {"method": standing.method, "machine": self.machine.key}
        return form_hash(series)[:16]


@dataclass(frozen=True)
class RefusedBundle:
    """A bundle that is not on the board."""

    entry: str
    manifest: str | None
    reason: str


def collect(
    paths: Sequence[Path], judged: Collection[str] | None = None
) -> tuple[list[Candidate], list[RefusedBundle]]:
    """Everything that can be ranked in these bundles, and what cannot; nothing of them is executed.

    `judged` are the only manifests that may be there, if a contest's judge writes into the folder.
    """
    candidates: list[Candidate] = []
    refused: list[RefusedBundle] = []
    names: set[str] = set()
    seen: dict[str, str] = {}
    for path in paths:
        name = _unused(clean(path.name), names)
        names.add(name)
        try:
            found = _candidates(path, name)
        except Deep500Error as error:
            refused.append(RefusedBundle(name, None, clean(error)))
            continue
        manifest = found[0].manifest
        if manifest in seen:
            reason = f"the same result as {seen[manifest]}, byte for byte"
            refused.append(RefusedBundle(name, manifest, reason))
            continue
        if judged is not None and manifest not in judged:
            reason = "the judge of this contest has not written it"
            refused.append(RefusedBundle(name, manifest, reason))
            continue
        seen[manifest] = name
        candidates += found
    return candidates, refused


def _unused(name: str, names: set[str]) -> str:
    """The name, or with a number: two files may look alike once their names are harmless."""
    number = 2
    unused = name
    while unused in names:
        unused = f"{name} ({number})"
        number += 1
    return unused


def bundle_paths(folder: Path) -> list[Path]:
    """What may be a bundle in this folder: its sub-folders and zips, by name."""
    try:
        found = sorted(path for path in folder.iterdir() if _is_bundle(path))
    except OSError as error:
        raise Deep500Error(
            f"the folder of bundles {folder} cannot be read: {error.strerror}"
        ) from None
    if len(found) > MOST_BUNDLES:
        raise Deep500Error(
            f"{folder} holds {len(found)} bundles: a board takes {MOST_BUNDLES}"
        )
    return found


def _is_bundle(path: Path) -> bool:
    if path.is_symlink():
        return False
    if path.suffix == ".zip":
        return path.is_file()
    return (path / MANIFEST).exists() or (path / "samples.jsonl").exists()


def _candidates(path: Path, name: str) -> list[Candidate]:
    """What a bundle brings to the board; a Deep500Error if it does not verify or cannot be ranked."""
    bundle = read(path)
    if not bundle.finished:
        raise Deep500Error("it is unfinished")
    record = record_of(bundle)
    if record.problems:
        count = len(record.problems)
        raise Deep500Error(
            f"it does not verify ({count} problems, the first: {record.problems[0]})"
        )
    with one_line("it cannot be ranked"):
        contestants = [*record.kind.contestants(record)]
        return [*_named(path, name, bundle.created, record, contestants)]


def _named(
    path: Path,
    bundle: str,
    created: str,
    record: Record,
    contestants: list[Contestant],
) -> Iterator[Candidate]:
    environment = environment_of(record.environment)
    for contestant in contestants:
        entry = bundle
        if len(contestants) > 1:
            entry += f" / {contestant.standing.system}"
        yield Candidate(
            entry=entry,
            bundle=bundle,
            path=path,
            manifest=str(record.hash),
            created=created,
            record=record,
            contestant=contestant,
            machine=machine_class(environment),
            versions=versions(environment, contestant.standing.versions),
        )
