"""The data-set contract: arrays by name, split for training, validation and testing."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking
from ..hashing.array_digest import update_digest
from .augmentation import Augmentation, Draws, Spec

Indices = np.ndarray | slice
CHUNK_BYTES = 1 << 24  # read at a time when a whole column is read


class Bounds(NamedTuple):
    """The smallest and the largest element of a column."""

    low: Any
    high: Any


class Column(ABC):
    """An array with one entry per example that is read by index, such as pictures in files.

    A subclass sets `shape` (the first number counts the examples) and `dtype`, and implements `read` and `digest`.
    Several threads may read at the same time.
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    @abstractmethod
    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        """Write the entries of these indices (each from 0 to the count of examples) into `out`."""

    @abstractmethod
    def digest(self) -> str:
        """A checksum of everything that can be read from the column: of its files, or of its elements."""

    def bounds(self) -> Bounds:
        """The smallest and the largest element; by default the whole column is read, a chunk at a time."""
        lows = []
        highs = []
        for part in chunks(self):
            lows.append(part.min())
            highs.append(part.max())
        return Bounds(min(lows), max(highs))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, indices: Indices) -> np.ndarray:
        rows = row_numbers(indices, len(self))
        out = np.empty((len(rows), *self.shape[1:]), self.dtype)
        self.read(rows, out)
        return out


@dataclass(frozen=True)
class Split:
    """Columns of equal length by name; the task of a run sets the names, "x" and "label" for classification.

    A column is an array, a memory map, or a Column that is read by index.
    """

    columns: Mapping[str, np.ndarray | Column]
    augmentations: tuple[Augmentation, ...] = ()
    seed: int = 0
    classes: int = 0  # of the labels; 0 where nobody has declared it

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All columns as arrays; a Deep500Error if one is neither in memory nor in a memory map."""
        arrays: dict[str, np.ndarray] = {}
        for name, column in self.columns.items():
            if isinstance(column, Column):
                raise Deep500Error(
                    f"{name!r} is not in memory: read it with split.batch(indices); its shape and "
                    "dtype are in split.specs"
                )
            arrays[name] = column
        return arrays

    @property
    def specs(self) -> dict[str, Spec]:
        """The shape of one example and the dtype of every array of a batch, by name."""
        specs = {}
        for name, column in self.columns.items():
            specs[name] = Spec(tuple(column.shape[1:]), column.dtype)
        for augmentation in self.augmentations:
            specs = augmentation.specs(specs)
        return specs

    def batch(self, indices: Indices, epoch: int = 0) -> dict[str, np.ndarray]:
        """The examples of these indices, changed by the augmentations of this epoch."""
        return self._augmented(indices, epoch, len(self.augmentations))

    def read(
        self, indices: np.ndarray, epoch: int, out: Mapping[str, np.ndarray]
    ) -> None:
        """The same as `batch`, written into existing arrays; without augmentations there is no other copy."""
        rows = row_numbers(indices, len(self))
        if self.augmentations:
            last = len(self.augmentations) - 1
            batch = self._augmented(rows, epoch, last)
            draws = Draws(self.seed, epoch, last, rows)
            self.augmentations[last].write(batch, draws, out)
            return
        for name, column in self.columns.items():
            if isinstance(column, Column):
                column.read(rows, out[name])
            else:
                # the rows have been checked; with "raise", NumPy would write to a buffer first
                np.take(column, rows, axis=0, out=out[name], mode="clip")

    def _augmented(
        self, indices: Indices, epoch: int, count: int
    ) -> dict[str, np.ndarray]:
        """The examples after the first `count` augmentations."""
        batch = {name: column[indices] for name, column in self.columns.items()}
        if not count:
            return batch
        rows = row_numbers(indices, len(self))
        for position, augmentation in enumerate(self.augmentations[:count]):
            draws = Draws(self.seed, epoch, position, rows)
            batch = augmentation.apply(batch, draws)
        return batch

    def transformed(self, *augmentations: Augmentation, seed: int = 0) -> "Split":
        """The same examples, with these augmentations after those that the split already has."""
        all_augmentations = (*self.augmentations, *augmentations)
        return replace(self, augmentations=all_augmentations, seed=seed)

    def renamed(self, names: Mapping[str, str]) -> "Split":
        """The same split with other names for some of its arrays; `names` maps old names to new ones."""
        columns = {}
        for name, column in self.columns.items():
            columns[names.get(name, name)] = column
        renamed = [augmentation.renamed(names) for augmentation in self.augmentations]
        return replace(self, columns=columns, augmentations=tuple(renamed))

    def bounds(self, name: str) -> Bounds:
        """The smallest and the largest element of a column, before any augmentation."""
        column = self.columns[name]
        if isinstance(column, Column):
            return column.bounds()
        return Bounds(column.min(), column.max())

    def digest(self) -> str:
        """SHA-256 of all columns (names, dtypes, shapes, and elements or files) and of the augmentations."""
        total = hashlib.sha256()
        for name, column in sorted(self.columns.items()):
            total.update(f"{name} {column.dtype.str} {column.shape}\n".encode())
            if isinstance(column, Column):
                total.update(column.digest().encode())
            else:
                update_digest(total, column)
        if self.augmentations:
            total.update(repr((self.augmentations, self.seed)).encode())
        return total.hexdigest()

    @cached_property
    def fault(self) -> str:
        """Why nothing can be trained on these columns, to follow the name of the split; empty if nothing is wrong.

        Arrays in memory are read once. Of memory maps and Columns only the first chunk is read: `check_batch` looks at
        the others when they are used.
        """
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            counts = [f"{count} of {name!r}" for name, count in lengths.items()]
            return (
                f"has {', '.join(counts)}: every array has one entry for each example"
            )
        for name, column in self.columns.items():
            if column.dtype.kind not in "fc":
                continue
            parts = chunks(column)
            if is_streamed(column):
                parts = islice(parts, 1)
            first, count = _not_finite(parts)
            if count:
                return _not_finite_text(name, count, first)
        return ""

    def check_batch(
        self, batch: Mapping[str, np.ndarray], rows: np.ndarray, split: str
    ) -> None:
        """Raise a Deep500Error if a number of these rows is not finite, in a column that `fault` has not read."""
        for name, column in self.columns.items():
            if column.dtype.kind not in "fc" or not is_streamed(column):
                continue
            first, count = _not_finite([batch[name]])
            if count:
                fault = _not_finite_text(name, count, int(rows[first]))
                raise Deep500Error(f"the split {split!r} {fault}")


class Dataset(Definition):
    """A source of data in three splits without overlap: `train`, `validation` for choosing, `test` for reporting."""

    # shape of one input, where it is known before loading
    shape: ClassVar[tuple[int, ...]]
    classes: ClassVar[int]  # of data for classification

    def load(self) -> dict[str, Split]:
        """The splits "train", "validation" and "test"; the same on every call."""
        raise lacking(self, "load")

    def files(self) -> Mapping[str, Path]:
        """The files that `load` reads, by their role; empty if it reads none."""
        return {}

    def checksums(self) -> dict[str, str]:
        """SHA-256 of every file, by its role."""
        return {name: file_digest(path) for name, path in self.files().items()}


def file_digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def row_numbers(indices: Indices, size: int) -> np.ndarray:
    """The indices as an array of integers; a Deep500Error if one is negative or beyond the data."""
    if isinstance(indices, slice):
        return np.arange(*indices.indices(size))
    rows = np.asarray(indices)
    if rows.size == 0:
        return rows
    first, last = rows.min(), rows.max()
    if first < 0 or last >= size:
        raise Deep500Error(
            f"an index goes from {first} to {last}, and the data have {size} examples"
        )
    return rows


def chunks(column: np.ndarray | Column) -> Iterator[np.ndarray]:
    """The column in parts of a few megabytes, in order."""
    example_size = int(np.prod(column.shape[1:]))
    example_bytes = column.dtype.itemsize * example_size
    step = max(1, CHUNK_BYTES // max(1, example_bytes))
    return (column[start : start + step] for start in range(0, len(column), step))


def is_streamed(column: np.ndarray | Column) -> bool:
    """Whether a column is read while it is used, since it may be larger than the memory."""
    return isinstance(column, Column | np.memmap)


def _not_finite(parts: Iterable[np.ndarray]) -> tuple[int, int]:
    """The first row with a number that is not finite, and how many such numbers there are."""
    first_row = 0
    count = 0
    start = 0
    for part in parts:
        is_bad = ~np.isfinite(part)
        if is_bad.any():
            if not count:
                bad_rows = is_bad.reshape(len(part), -1).any(axis=1)
                first_row = start + int(bad_rows.argmax())
            count += int(is_bad.sum())
        start += len(part)
    return first_row, count


def _not_finite_text(name: str, count: int, first_row: int) -> str:
    numbers = "1 number that is" if count == 1 else f"{count} numbers that are"
    return (
        f"holds {numbers} not finite (NaN or infinite) in {name!r}, the first in row {first_row}: "
        "correct these rows, or leave them out"
    )
