"""Finding the files of a data set: which are looked for, where, and what is wrong with them."""

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import Deep500Error, visible
from ..home import data_folder

MOST_BYTES = 1 << 32  # of one file's contents that are held in memory
HOW_TO_SAY = "give folder=…, `d5 run` --data FOLDER, or set DEEP500_DATA"


def find_files(
    name: str,
    folder: str,
    subfolders: Sequence[str],
    choices: Mapping[str, Sequence[str]],
) -> dict[str, Path]:
    """The path of every file of a data set, by its role; all of them lie in the same folder.

    `choices` has the possible names of each file. The data folder's `subfolders` are tried in order, then the data
    folder itself. Raises a Deep500Error that names every file and every folder if no folder has them all.
    """
    root = data_folder(folder)
    places = [root / subfolder for subfolder in subfolders]
    places.append(root)
    most_missing = list(choices.values())
    for place in places:
        paths, missing = _files_in(place, choices)
        if not missing:
            return {role: checked_file(path, root) for role, path in paths.items()}
        if len(missing) < len(most_missing):
            most_missing = missing
    wanted = ", ".join(" or ".join(names) for names in most_missing)
    searched = ", ".join(str(place) for place in places)
    raise Deep500Error(
        f"the data set {name} needs {visible(wanted)}, which is not in {visible(searched)}: {HOW_TO_SAY}"
    )


def _files_in(
    place: Path, choices: Mapping[str, Sequence[str]]
) -> tuple[dict[str, Path], list[Sequence[str]]]:
    """The files that are in this folder, and the names of those that are not."""
    paths: dict[str, Path] = {}
    missing: list[Sequence[str]] = []
    for role, names in choices.items():
        present = [place / name for name in names if (place / name).exists()]
        if present:
            paths[role] = present[0]
        else:
            missing.append(names)
    return paths, missing


def one_file(name: str, folder: str, file: str) -> Path:
    """A file that the user names: relative to the data folder, or with its whole path if there is none."""
    if not file:
        raise Deep500Error(f"the data set {name} reads a file: name it with file=…")
    if os.path.isabs(file) and not folder:
        path = Path(file)
        return checked_file(path, path.parent)
    if not folder and not os.environ.get("DEEP500_DATA") and Path(file).is_file():
        return checked_file(Path(file).absolute(), Path(file).absolute().parent)
    return find_files(name, folder, (), {"file": (file,)})["file"]


def checked_file(path: Path, root: Path) -> Path:
    """The path, if it is a readable regular file inside `root`; else a Deep500Error."""
    try:
        status = path.stat()
    except OSError as error:
        raise Deep500Error(f"{shown(path)} cannot be read: {error.strerror}") from None
    if not path.resolve().is_relative_to(root.resolve()):
        raise Deep500Error(
            f"{shown(path)} leads outside of the folder {shown(root)}: a data set reads only what is in its folder"
        )
    if not stat.S_ISREG(status.st_mode):
        raise Deep500Error(f"{shown(path)} is no regular file")
    if not os.access(path, os.R_OK):
        raise Deep500Error(f"{shown(path)} cannot be read: no permission")
    return path


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """The contents of a file, if they are not longer than `most`."""
    size = path.stat().st_size
    if size > most:
        raise Deep500Error(
            f"{shown(path)} has {size} bytes, and at most {most} are read into memory"
        )
    return path.read_bytes()


def shown(path: Path) -> str:
    """A path in a message."""
    return visible(str(path))
