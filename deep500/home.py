"""Where Deep500 keeps what outlives one result: the ledger, measured peaks; and what can be made again."""

import os
from pathlib import Path

from .errors import Deep500Error


def home() -> Path:
    """$DEEP500_HOME, else $XDG_DATA_HOME/deep500, else ~/.local/share/deep500 (it need not exist yet)."""
    if chosen := os.environ.get("DEEP500_HOME"):
        return Path(chosen).absolute()
    shared = Path(os.environ.get("XDG_DATA_HOME", ""))
    if shared.is_absolute():  # the XDG rules say that a relative one is to be ignored
        return shared / "deep500"
    try:
        return Path.home() / ".local" / "share" / "deep500"
    except RuntimeError:
        raise Deep500Error(
            "this user has no home folder to keep the ledger in: set DEEP500_HOME"
        ) from None


def cache() -> Path:
    """$DEEP500_CACHE, else $XDG_CACHE_HOME/deep500, else ~/.cache/deep500: what has been built, safe to delete."""
    if chosen := os.environ.get("DEEP500_CACHE"):
        return Path(chosen).absolute()
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if shared.is_absolute():
        return shared / "deep500"
    try:
        return Path.home() / ".cache" / "deep500"
    except RuntimeError:
        raise Deep500Error("this user has no home folder to build in: set DEEP500_CACHE") from None
