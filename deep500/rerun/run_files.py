"""The files beside the bundle of an unfinished run: checkpoints, and the weights of trained seeds."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from ..errors import Deep500Error
from ..training.attempts import Attempts
from ..training.checkpoint import load_checkpoint, save_checkpoint


class RunFiles:
    """A folder beside that of the bundle, which is removed when the run is finished."""

    def __init__(self, bundle: Path):
        self.folder = bundle.with_name(bundle.name + ".checkpoints")
        self.attempts = Attempts(self.folder)

    def make(self) -> None:
        self.folder.mkdir(exist_ok=True)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def save_checkpoint(self, seed: int, epochs: int, checkpoint: Any) -> None:
        """Write what is needed to go on after so many epochs."""
        save_checkpoint(self._checkpoint(seed, epochs), checkpoint)

    def checkpoint_digest(self, seed: int, epochs: int) -> str:
        """The SHA-256 of a checkpoint."""
        with open(self._checkpoint(seed, epochs), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def load_checkpoint(self, seed: int, epochs: int, digest: str | None) -> Any:
        """The checkpoint after so many epochs; a Deep500Error if its SHA-256 is not this one."""
        start = load_checkpoint(self._checkpoint(seed, epochs))
        if start and self.checkpoint_digest(seed, epochs) != digest:
            raise Deep500Error(
                f"the checkpoint of seed {seed} is not the one that the bundle names: start anew"
            )
        return start

    def remove_checkpoint(self, seed: int, epochs: int) -> None:
        self._checkpoint(seed, epochs).unlink(missing_ok=True)

    def end_seed(self, seed: int) -> None:
        """Remove what is no longer needed of a seed that was trained, or has crashed."""
        for old in self.folder.glob(f"{seed}-*.safetensors"):
            old.unlink()
        self.attempts.forget(seed)

    def save_weights(self, seed: int, weights: bytes) -> str:
        """Write the trained weights of a seed to disk, all or nothing; returns their SHA-256."""
        path = self._weights(seed)
        partial = path.with_suffix(".partial")
        with open(partial, "wb") as file:
            file.write(weights)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        return hashlib.sha256(weights).hexdigest()

    def weights(self, seed: int, digest: str) -> bytes:
        """The trained weights of a seed; a Deep500Error if their SHA-256 is not this one."""
        try:
            weights = self._weights(seed).read_bytes()
        except OSError as error:
            raise Deep500Error(
                f"no weights of seed {seed} in {self.folder} ({error.strerror}): start anew"
            ) from None
        if hashlib.sha256(weights).hexdigest() != digest:
            raise Deep500Error(
                f"the weights of seed {seed} in {self.folder} are not those of the bundle: start anew"
            )
        return weights

    def _checkpoint(self, seed: int, epochs: int) -> Path:
        return self.folder / f"{seed}-{epochs}.safetensors"

    def _weights(self, seed: int) -> Path:
        return self.folder / f"{seed}.weights"
