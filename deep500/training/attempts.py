"""Counts how often a seed was begun at the same epoch, so that one whose process always dies there is given up."""

import json
from pathlib import Path
from typing import Any

from ..errors import Deep500Error, InternalError, raising_function, with_place

MOST_ATTEMPTS = 3  # at the same epoch of a seed; the next one is not made


class Attempts:
    """Small files beside the checkpoints: one for each seed that is being trained."""

    def __init__(self, folder: Path):
        self.folder = folder

    def crash(self, seed: int, epochs: int) -> str:
        """Why a seed is given up that has done so many epochs; empty if it is to be tried."""
        earlier = self._read(seed)
        if earlier["epochs"] != epochs or earlier["count"] < MOST_ATTEMPTS:
            return ""
        reason = earlier["reason"] or "its process was killed"
        return f"{reason} ({earlier['count']} attempts)"

    def begin(self, seed: int, epochs: int) -> None:
        """Note, before an epoch is trained, that a seed goes on after so many."""
        earlier = self._read(seed)
        count = earlier["count"] if earlier["epochs"] == epochs else 0
        self._write(seed, epochs, count + 1, "")

    def failed(self, seed: int, reason: str) -> None:
        """Note why the attempt that was begun last has ended."""
        earlier = self._read(seed)
        self._write(seed, earlier["epochs"], earlier["count"], reason)

    def forget(self, seed: int) -> None:
        """The seed is done, or a person interrupted it, which says nothing about it."""
        self._path(seed).unlink(missing_ok=True)

    def _path(self, seed: int) -> Path:
        return self.folder / f"{seed}.attempts"

    def _read(self, seed: int) -> dict[str, Any]:
        try:
            return json.loads(self._path(seed).read_text())
        except (OSError, ValueError):
            return {"epochs": 0, "count": 0, "reason": ""}

    def _write(self, seed: int, epochs: int, count: int, reason: str) -> None:
        document = {"epochs": epochs, "count": count, "reason": reason}
        self._path(seed).write_text(json.dumps(document))


def crash_reason(error: BaseException) -> str:
    """What a seed crashed of, in one line; empty for a defect of Deep500 itself, or a disk that is full."""
    if isinstance(error, InternalError):
        return ""
    of_run = isinstance(error, Deep500Error | MemoryError)
    if not of_run and raising_function(error) is None:
        return ""
    return with_place(error)
