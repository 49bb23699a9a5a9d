"""The folders in which Deep500 keeps files beyond one result (ledger, measured peaks, builds) and finds data sets."""

import os
from pathlib import Path

from .errors import Deep500Error


def home() -> Path:
    """$DEEP500_HOME, else $XDG_DATA_HOME/deep500, else ~/.local/share/deep500 (it need not exist yet)."""
    if chosen := os.environ.get("DEEP500_HOME"):
        return _folder_of_variable("DEEP500_HOME", chosen)
    shared = Path(os.environ.get("XDG_DATA_HOME", ""))
    # the XDG rules say that a relative one is to be ignored
    if shared.is_absolute():
        return shared / "deep500"
    try:
        return Path.home() / ".local" / "share" / "deep500"
    except RuntimeError:
        raise Deep500Error(
            "this user has no home folder to keep the ledger in: set DEEP500_HOME"
        ) from None


def cache() -> Path:
    """$DEEP500_CACHE, else $XDG_CACHE_HOME/deep500, else ~/.cache/deep500: build results, safe to delete."""
    if chosen := os.environ.get("DEEP500_CACHE"):
        return _folder_of_variable("DEEP500_CACHE", chosen)
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if shared.is_absolute():
        return shared / "deep500"
    try:
        return Path.home() / ".cache" / "deep500"
    except RuntimeError:
        raise Deep500Error(
            "this user has no home folder to build in: set DEEP500_CACHE"
        ) from None


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder with the files of data sets: `folder` if given, else $DEEP500_DATA, which `--data` sets too.

    Raises a Deep500Error if neither is given, or if it is not a folder.
    """
    chosen = folder or os.environ.get("DEEP500_DATA")
    if not chosen:
        raise Deep500Error(
            "no folder with data is named: give the data set folder=…, `d5 run` --data FOLDER, or set "
            "DEEP500_DATA"
        )
    path = Path(chosen).expanduser()
    if not path.is_dir():
        raise Deep500Error(
            f"the folder with data, {path}, is not there or is no folder"
        )
    return path


def make_folder(folder: Path, variable: str) -> None:
    """Create a folder below `home` or `cache`; raises a Deep500Error if it cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error.strerror, variable) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _unwritable(folder, "no permission", variable)


def _unwritable(folder: Path, reason: str | None, variable: str) -> Deep500Error:
    return Deep500Error(
        f"{folder} cannot be written ({reason}): set {variable} to a folder that can"
    )


def _folder_of_variable(variable: str, text: str) -> Path:
    """The folder that an environment variable names; it need not exist yet."""
    path = Path(text).absolute()
    candidates = (path, *path.parents)
    existing = next(folder for folder in candidates if os.path.lexists(folder))
    if not os.path.isdir(existing):
        raise Deep500Error(
            f"{variable} is {text}, and {existing} is no folder: set it to one"
        )
    return path
