"""What the clock sees of a data set: one batch, or a pass over all examples."""

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from ... import registry
from ...contracts.dataset import Column, Dataset, Split
from ...contracts.sampler import batches, shuffled
from ...errors import Deep500Error
from ...training.loading import Loader
from .containers import files_of, maps_of, opened
from .jobs import Job
from .page_cache import evict_before_calls

TOLERANCE = 2.01 / 255  # two decoders may round a pixel differently


class Subject:
    """Reads as a job says. `run` is what is timed, `check` tells whether what was read is right."""

    def __init__(self, job: Mapping[str, Any]):
        self.job = Job(**job)
        own = examples_of(self.job)
        self.wanted = own
        self.split = opened(self.job, own)
        self.loader = Loader(self.split, self.job.workers)
        self.epochs = count()
        if self.job.cold:
            evict_before_calls.paths.update(files_of(self.job, own))
            evict_before_calls.maps += maps_of(self.split)
        self.run = self.one_batch if self.job.mode == "one batch" else self.a_pass

    def one_batch(self) -> None:
        order = shuffled(len(self.split), 0, next(self.epochs))
        [self.last] = self.loader.batches([order[: self.job.batch]])
        self.last_rows = order[: self.job.batch]

    def a_pass(self) -> None:
        order = shuffled(len(self.split), 0, next(self.epochs))
        for rows in self.loader.batches(batches(order, self.job.batch)):
            self.last = rows
        self.last_rows = order[len(order) - 1 - (len(order) - 1) % self.job.batch :]

    def check(self) -> None:
        """Raise a Deep500Error if the last batch is not what the data set has there."""
        wanted = self.wanted.batch(self.last_rows)
        for name, values in wanted.items():
            difference = np.abs(self.last[name].astype(np.float64) - values).max()
            if difference > (TOLERANCE if self.job.decoder else 0):
                raise Deep500Error(
                    f"{self.job.name}: {name!r} differs by {difference:.3g} from what the data set has"
                )
        self.loader.close()


def examples_of(job: Job) -> Split:
    """The first examples of the training data, by the decoder of the job where there is one to choose."""
    settings = dict(job.settings)
    if job.decoder:
        settings["decoder"] = job.decoder
    dataset: Dataset = registry.named("datasets", job.dataset)(**settings)
    train = dataset.load()["train"]
    rows = np.arange(min(job.examples, len(train)))
    columns = {name: First(column, len(rows)) for name, column in train.columns.items()}
    return Split(columns, train.augmentations, train.seed)


class First(Column):
    """The first examples of a column."""

    def __init__(self, column: np.ndarray | Column, size: int):
        self.source = column
        self.shape = (size, *column.shape[1:])
        self.dtype = column.dtype
        self.paths = list(getattr(column, "paths", ()))[:size]
        self.path = getattr(column, "path", None)

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        if isinstance(self.source, Column):
            self.source.read(indices, out)
        else:
            np.take(self.source, indices, axis=0, out=out, mode="clip")

    def digest(self) -> str:
        return f"the first {len(self)}"
