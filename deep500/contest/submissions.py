"""Seals a submission: it is read, never run; what is judged later are these bytes and no others."""

import ast
import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contracts.recipe_entries import ENTRIES
from ..errors import Deep500Error, Wrong, did_you_mean
from ..hashing.imported_files import import_closure
from .definition import NAME, SUBMISSIONS, ContestFolder, Division, LogLine, now

MAIN = "submission.py"
MADE_AT = (1980, 1, 1, 0, 0, 0)
MOST_FILES = 50
PARTS = ("MUTABLE", "FIXED")


@dataclass(frozen=True)
class Submission:
    """A sealed submission, read from the contest's folder."""

    entry: str
    division: Division
    digest: str
    files: Mapping[str, bytes]

    @property
    def fixed(self) -> dict[str, Any]:
        """The entries of FIXED that an open submission changes, which are plain values: nothing is run for them."""
        return fixed_changes(self.files[MAIN])


def submit(
    folder: ContestFolder, file: Path, entry: str, division: Division
) -> LogLine:
    """Check a submission, copy it into the contest, and note it in the log."""
    if not NAME.fullmatch(entry):
        raise Deep500Error(
            f"the name of the entry is {entry[:50]!r}: give up to 40 letters, digits, - and _"
        )
    if division not in folder.contest.divisions:
        names = ", ".join(folder.contest.divisions)
        raise Deep500Error(
            f"this contest has no division {division!r}; it has: {names}"
        )
    most = folder.contest.submission_kib * 1024
    _check_size(_size(file), most)
    if folder.contest.kind == "recipe":
        check(file.read_bytes(), division)
    else:
        check_kernel(file.read_bytes())
    files = _files(file)
    _check_size(sum(map(len, files.values())), most)
    data = _packed(files)
    digest = hashlib.sha256(data).hexdigest()
    lines, _ = folder.log.read()
    for line in lines:
        if line.event == "submitted" and line.submission == digest:
            return _again(line, entry, division)
    try:
        (folder.path / SUBMISSIONS / f"{digest[:16]}.zip").write_bytes(data)
    except OSError as error:
        raise Deep500Error(
            f"{folder.path} cannot be written: {error.strerror}"
        ) from None
    line = LogLine(now(), "submitted", entry, division, digest)
    folder.log.append([line])
    return line


def _again(line: LogLine, entry: str, division: Division) -> LogLine:
    """The line of a submission that is handed in again; nobody hands in the program of another."""
    if (line.entry, line.division) == (entry, division):
        return line
    raise Deep500Error(
        f"the same program was handed in already, as {line.entry} in the {line.division} division"
    )


def _size(file: Path) -> int:
    if not file.is_file():
        raise Deep500Error(f"there is no submission {file}")
    return file.stat().st_size


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise Deep500Error(
            f"the submission has {size} bytes, and this contest takes {most}"
        )


def attempts(lines: Sequence[LogLine], entry: str) -> int:
    """How often an entry was submitted."""
    return sum(line.event == "submitted" and line.entry == entry for line in lines)


def sealed(folder: ContestFolder, line: LogLine) -> Submission:
    """The submission of a line of the log; raises Wrong if its bytes are not those that were sealed."""
    path = folder.path / SUBMISSIONS / f"{line.submission[:16]}.zip"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Deep500Error(f"{path} cannot be read: {error.strerror}") from None
    if hashlib.sha256(data).hexdigest() != line.submission:
        raise Wrong(f"{path} was changed after it was sealed")
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        files = {name: source.read(name) for name in source.namelist()}
    return Submission(line.entry, line.division, line.submission, files)


def check(source: bytes, division: Division) -> None:
    """Raise a Deep500Error unless the file reads as a submission; it is parsed, not run."""
    found = _assignments(source)
    if "MUTABLE" not in found:
        raise Deep500Error(
            "the submission has no MUTABLE: it is a Python file with MUTABLE = {…} at its top level"
        )
    if division == "closed" and "FIXED" in found:
        raise Deep500Error(
            "the submission sets FIXED, which the closed division takes from the organiser: leave it out, or submit "
            "to the open division"
        )
    for part, value in found.items():
        _check_keys(part, value)
    if division == "open":
        fixed_changes(source)


def check_kernel(source: bytes) -> None:
    """Raise a Deep500Error unless the file reads as one that defines `kernel`."""
    for node in _parsed(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == "kernel":
            return
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(t, ast.Name) and t.id == "kernel" for t in targets):
            return
    raise Deep500Error(
        "the submission has no kernel: it is a Python file with a function `kernel`"
    )


def fixed_changes(source: bytes) -> dict[str, Any]:
    """FIXED of a submission: numbers, texts, lists and dictionaries as they are written."""
    value = _assignments(source).get("FIXED")
    if value is None:
        return {}
    try:
        changes = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise Deep500Error(
            "FIXED of a submission holds something else than numbers, texts, lists and dictionaries: the judge "
            "does not run it, so name definitions of Deep500 by their names"
        ) from None
    if not isinstance(changes, dict):
        raise Deep500Error("FIXED of a submission is not a dictionary")
    return changes


def _assignments(source: bytes) -> dict[str, ast.expr]:
    """The values of MUTABLE and FIXED as they are written."""
    found: dict[str, ast.expr] = {}
    for statement in _parsed(source).body:
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            if isinstance(target, ast.Name) and target.id in PARTS:
                found[target.id] = statement.value
    return found


def _parsed(source: bytes) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Deep500Error(
            f"the submission is no Python that can be read ({type(error).__name__})"
        ) from None


def _check_keys(part: str, value: ast.expr) -> None:
    """Raise a Deep500Error for a key that no recipe has, where the dictionary is written out."""
    if not isinstance(value, ast.Dict):
        return
    for key in value.keys:
        if isinstance(key, ast.Constant) and key.value not in ENTRIES:
            hint = did_you_mean(str(key.value), ENTRIES)
            raise Deep500Error(f"{part} has no entry {str(key.value)[:40]!r}.{hint}")


def _files(file: Path) -> dict[str, bytes]:
    """The file and the modules beside it that it imports, by their names in the package."""
    home = file.resolve().parent
    files: dict[str, bytes] = {MAIN: file.read_bytes()}
    for name, path in import_closure([file], home).items():
        # what lies elsewhere is no part of it, also behind a link: the sandbox will not have it
        if path != file.resolve() and path.is_relative_to(home) and name != MAIN:
            files[name] = path.read_bytes()
    if len(files) > MOST_FILES:
        raise Deep500Error(
            f"the submission has {len(files)} files, and a contest takes {MOST_FILES}"
        )
    return files


def _packed(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as target:
        for name in sorted(files):
            target.writestr(zipfile.ZipInfo(name, MADE_AT), files[name])
    return packed.getvalue()
