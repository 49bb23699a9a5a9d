"""One measurement of a data set: which container and decoder, by how many workers, how much at a time."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

ITS_OWN = "its own"  # the files of the data set as they are
CONTAINERS = (ITS_OWN, "npy", "hdf5", "memory")
MODES = ("one batch", "a pass")


@dataclass(frozen=True)
class DatasetJob:
    """One combination of the factors. `folder` holds the examples in the other containers."""

    dataset: str
    settings: Mapping[str, Any]
    container: str
    decoder: str
    workers: int
    mode: str
    batch: int
    examples: int
    folder: str
    cold: bool = False

    @property
    def candidate(self) -> str:
        decoded = f" ({self.decoder})" if self.decoder else ""
        return f"{self.container}{decoded}, {self.workers} workers"

    @property
    def name(self) -> str:
        return f"{self.candidate}, {self.mode}"

    @property
    def examples_of_a_call(self) -> int:
        return self.batch if self.mode == "one batch" else self.examples

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
