"""What is timed of a data set: reading one batch, or a pass over all examples."""

from itertools import count
from typing import Any

import numpy as np

from ... import registry
from ...contracts.dataset import Column, Dataset, Split
from ...contracts.sampler import batches, shuffled
from ...errors import Deep500Error, Unsupported
from ...training.loading import Loader
from ..benchmark import Subject
from .containers import files_of, maps_of, opened
from .jobs import DatasetJob
from .page_cache import (
    MOST_RESIDENT,
    evict,
    evict_before_calls,
    resident_share,
)

TOLERANCE = 2.01 / 255  # two decoders may round a pixel differently


class DatasetSubject(Subject):
    """Reads the examples of a job: one batch, or a pass over all of them."""

    def __init__(self, job: DatasetJob):
        if job.cold and job.workers:
            raise Unsupported(
                "workers read ahead, so that a cold page cache is measured without them"
            )
        self.job = job
        self.original = examples_of(self.job)
        self.split = opened(self.job, self.original)
        self.loader = Loader(self.split, self.job.workers)
        self.epochs = count()
        if self.job.cold:
            paths = files_of(self.job, self.original)
            evict_before_calls.paths.update(paths)
            evict_before_calls.maps += maps_of(self.split)
        if self.job.mode == "one batch":
            self.run = self.one_batch
        else:
            self.run = self.a_pass

    def one_batch(self) -> None:
        order = shuffled(len(self.split), 0, next(self.epochs))
        rows = order[: self.job.batch]
        [self.last] = self.loader.batches([rows])
        self.last_rows = rows

    def a_pass(self) -> None:
        order = shuffled(len(self.split), 0, next(self.epochs))
        for rows in self.loader.batches(batches(order, self.job.batch)):
            self.last = rows
        last = len(order) - 1
        start_of_last_batch = last - last % self.job.batch
        self.last_rows = order[start_of_last_batch:]

    def check(self) -> None:
        self.run()
        self._check_last()

    def check_again(self) -> None:
        self._check_last()
        self.loader.close()

    def _check_last(self) -> None:
        """Raise a Deep500Error if the last batch differs from what the data set has."""
        tolerance = TOLERANCE if self.job.decoder else 0
        expected = self.original.batch(self.last_rows)
        for name, values in expected.items():
            actual = self.last[name].astype(np.float64)
            difference = np.abs(actual - values).max()
            if difference > tolerance:
                raise Deep500Error(
                    f"{self.job.label}: {name!r} differs by {difference:.3g} from what the data set has"
                )

    def facts(self) -> dict[str, Any]:
        facts = {"page_cache": self._page_cache_state()}
        self.loader.close()
        return facts

    def _page_cache_state(self) -> dict[str, Any]:
        """The share of the files' pages that are in the page cache when a call begins; None if it is not known."""
        job = self.job
        paths = files_of(job, self.original)
        if not paths:
            if job.cold:
                raise Unsupported(
                    "what is in memory has no files: only the caches of the CPU are cold"
                )
            return {"state": "no files", "resident": None}
        if not job.cold:
            self.split.batch(slice(None))
            return {"state": "warm", "resident": resident_share(paths)}
        evict(paths, maps_of(self.split))
        share = resident_share(paths)
        if share is not None and share > MOST_RESIDENT:
            percent = f"{share:.0%}"
            raise Unsupported(
                f"the page cache cannot be emptied here: {percent} of the pages of {paths[0]} stay"
            )
        return {"state": "cold", "resident": share}


def examples_of(job: DatasetJob) -> Split:
    """The first examples of the training data, read with the decoder of the job if it names one."""
    settings = dict(job.attributes)
    if job.decoder:
        settings["decoder"] = job.decoder
    definition = registry.named("datasets", job.dataset)
    dataset: Dataset = definition(**settings)
    train = dataset.load()["train"]
    size = min(job.examples, len(train))
    columns = {name: First(column, size) for name, column in train.columns.items()}
    return Split(columns, train.augmentations, train.seed)


class First(Column):
    """The first examples of a column."""

    def __init__(self, column: np.ndarray | Column, size: int):
        self.source = column
        self.shape = (size, *column.shape[1:])
        self.dtype = column.dtype
        paths = list(getattr(column, "paths", ()))
        self.paths = paths[:size]
        self.path = getattr(column, "path", None)

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        if isinstance(self.source, Column):
            self.source.read(indices, out)
        else:
            np.take(self.source, indices, axis=0, out=out, mode="clip")

    def digest(self) -> str:
        return f"the first {len(self)}"
