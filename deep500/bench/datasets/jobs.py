"""One measurement of a data set: which container and decoder, by how many workers, how much at a time."""

from collections.abc import Mapping
from typing import Any

from ..benchmark import Job, Subject

ITS_OWN = "its own"  # the files of the data set as they are
CONTAINERS = (ITS_OWN, "npy", "hdf5", "memory")
MODES = ("one batch", "a pass")


class DatasetJob(Job):
    """One combination of the factors. `folder` holds the examples in the other containers."""

    dataset: str
    attributes: Mapping[str, Any]  # of the data set
    container: str
    decoder: str
    workers: int
    mode: str
    batch: int
    examples: int
    folder: str
    cold: bool = False

    def subject(self) -> Subject:
        from .subject import DatasetSubject

        return DatasetSubject(self)

    @property
    def levels(self) -> dict[str, str]:
        return {"read": self.mode}

    @property
    def noun(self) -> str:
        return self.dataset

    @property
    def trial_text(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        decoded = f" ({self.decoder})" if self.decoder else ""
        return f"{self.container}{decoded}, {self.workers} workers, {self.mode}"

    def name(self, result: Mapping[str, Any]) -> str:
        return self.label

    @property
    def examples_of_a_call(self) -> int:
        return self.batch if self.mode == "one batch" else self.examples
