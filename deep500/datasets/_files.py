"""Finds the files of a data set, and explains which are missing and where they were searched."""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import Deep500Error, visible
from ..home import data_folder

MOST_BYTES = 1 << 32  # the largest file that is read into memory
HOW_TO_SAY = "give folder=…, `d5 run` --data FOLDER, or set DEEP500_DATA"


def find_files(
    name: str,
    folder: str,
    subfolders: Sequence[str],
    choices: Mapping[str, Sequence[str]],
) -> dict[str, Path]:
    """The path of every file of a data set, by its role; all of them are in the same folder.

    `choices` has the possible names of each file. The data folder's `subfolders` are tried in order, then the data
    folder itself. Raises a Deep500Error that names every file and every folder if no folder has them all.
    """
    root = data_folder(folder)
    candidates = [root / subfolder for subfolder in subfolders]
    candidates.append(root)
    fewest_missing = list(choices.values())
    for candidate in candidates:
        paths, missing = _files_in(candidate, choices)
        if not missing:
            return {role: checked_file(path, root) for role, path in paths.items()}
        if len(missing) < len(fewest_missing):
            fewest_missing = missing
    alternatives = [" or ".join(names) for names in fewest_missing]
    needed = visible(", ".join(alternatives))
    searched = visible(", ".join(map(str, candidates)))
    raise Deep500Error(
        f"the data set {name} needs {needed}, which is not in {searched}: {HOW_TO_SAY}"
    )


def _files_in(
    folder: Path, choices: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Path], list[Sequence[str]]]:
    """The paths of the files that are in this folder, and the possible names of those that are not."""
    paths: dict[str, Path] = {}
    missing: list[Sequence[str]] = []
    for role, names in choices.items():
        candidates = [folder / name for name in names]
        present = [path for path in candidates if path.exists()]
        if present:
            paths[role] = present[0]
        else:
            missing.append(names)
    return paths, missing


def one_file(name: str, folder: str, file: str) -> Path:
    """The path of a file that the user names: relative to the data folder, or absolute if no folder is set."""
    if not file:
        raise Deep500Error(f"the data set {name} reads a file: name it with file=…")
    if os.path.isabs(file) and not folder:
        path = Path(file)
        return checked_file(path, path.parent)
    has_data_folder = folder or os.environ.get("DEEP500_DATA")
    if not has_data_folder and Path(file).is_file():
        path = Path(file).absolute()
        return checked_file(path, path.parent)
    paths = find_files(name, folder, (), {"file": (file,)})
    return paths["file"]


def checked_file(path: Path, root: Path) -> Path:
    """Return the path; raise a Deep500Error unless it is a readable regular file inside `root`."""
    try:
        status = path.stat()
    except OSError as error:
        raise Deep500Error(
            f"{printable_path(path)} cannot be read: {error.strerror}"
        ) from None
    if not path.resolve().is_relative_to(root.resolve()):
        raise Deep500Error(
            f"{printable_path(path)} leads outside of the folder {printable_path(root)}: "
            "a data set reads only what is in its folder"
        )
    if not stat.S_ISREG(status.st_mode):
        raise Deep500Error(f"{printable_path(path)} is no regular file")
    if not os.access(path, os.R_OK):
        raise Deep500Error(f"{printable_path(path)} cannot be read: no permission")
    return path


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The contents of a file; raises a Deep500Error if it has more than `most` bytes."""
    size = path.stat().st_size
    if size > most:
        raise Deep500Error(
            f"{printable_path(path)} has {size} bytes, and at most {most} are read into memory"
        )
    return path.read_bytes()


def printable_path(path: Path) -> str:
    """A path without control characters, for messages."""
    return visible(str(path))
