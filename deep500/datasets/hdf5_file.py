"""Arrays in an HDF5 file, read by index."""

import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..contracts.dataset import Column, Dataset, Split
from ..errors import Deep500Error, Unsupported, one_line, visible
from ._columns import digest_of_elements
from ._files import one_file
from ._parts import random_parts

MOST_CHUNK_BYTES = 1 << 28  # a chunk is decompressed as a whole
SPLITS = ("train", "validation", "test")


class Hdf5File(Dataset):
    """Arrays of an HDF5 file: at its top level, or in its groups "train", "validation" and "test"."""

    file: str = ""
    names: tuple[str, ...] = ("x", "label")
    folder: str = ""
    validation: float = 0.1
    test: float = 0.1
    seed: int = 0

    def files(self) -> dict[str, Path]:
        return {"arrays": one_file("hdf5_file", self.folder, self.file)}

    def load(self) -> dict[str, Split]:
        path = str(self.files()["arrays"])
        if "train" in _members(path):
            return {split: _split(path, self.names, f"{split}/") for split in SPLITS}
        whole = _split(path, self.names, "")
        parts = random_parts(len(whole), self.validation, self.test, self.seed)
        splits = {}
        for split, rows in parts.items():
            splits[split] = _split(path, self.names, "", rows)
        return splits


class Hdf5Column(Column):
    """An array of an HDF5 file, or some of its rows. Every process opens the file itself.

    An array that is contiguous and not compressed becomes a memory map of that part of the file.
    """

    def __init__(self, path: str, name: str, rows: np.ndarray | None = None):
        self.path = path
        self.name = name
        self.rows = rows
        self._opened: tuple[int, Any] | None = None
        array = self._array()
        self.shape = tuple(array.shape)
        if rows is not None:
            self.shape = (len(rows), *self.shape[1:])
        self.dtype = np.dtype(array.dtype)
        self.mapped = _memory_map(path, array)

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        """HDF5 reads rows in increasing order, each once; consecutive rows are read together."""
        rows = indices if self.rows is None else self.rows[indices]
        if self.mapped is not None:
            np.take(self.mapped, rows, axis=0, out=out, mode="clip")
            return
        unique_rows, positions = np.unique(rows, return_inverse=True)
        values = np.empty((len(unique_rows), *self.shape[1:]), self.dtype)
        array = self._array()
        breaks = np.flatnonzero(np.diff(unique_rows) != 1) + 1
        bounds = np.concatenate([[0], breaks, [len(unique_rows)]])
        for start, end in pairwise(bounds):
            first = unique_rows[start]
            source = np.s_[first : first + end - start]
            destination = np.s_[start:end]
            try:
                array.read_direct(values, source, destination)
            except Exception as error:
                # h5py raises many kinds for a damaged file
                raise _damaged(self.path, error) from None
        np.take(values, positions, axis=0, out=out, mode="clip")

    def digest(self) -> str:
        return digest_of_elements(self)

    def _array(self) -> Any:
        """The open array; a forked process does not use its parent's."""
        process = os.getpid()
        if self._opened is None or self._opened[0] != process:
            self._opened = process, _open_array(self.path, self.name)
        return self._opened[1]


def _split(
    path: str,
    names: tuple[str, ...],
    group: str,
    rows: np.ndarray | None = None,
) -> Split:
    columns = {name: Hdf5Column(path, group + name, rows) for name in names}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1 or not lengths.pop():
        shapes = [f"{name} {column.shape}" for name, column in columns.items()]
        raise Deep500Error(
            f"{visible(path)}: the arrays have one entry per example each, and these are: {', '.join(shapes)}"
        )
    return Split(columns)


def _open_array(path: str, name: str) -> Any:
    """Open an array; raise a Deep500Error if it is not in this file or does not hold numbers."""
    file = _open_file(path)
    try:
        return _checked_array(file, path, name)
    except Deep500Error:
        file.close()
        raise
    except Exception as error:  # h5py raises many kinds for a damaged file
        file.close()
        raise _damaged(path, error) from None


def _checked_array(file: Any, path: str, name: str) -> Any:
    label = f"{visible(path)}: {visible(name)!r}"
    h5py = _h5py()
    item = file
    for part in name.split("/"):
        link = item.get(part, getlink=True)
        if link is None:
            names = visible(", ".join(item)) or "nothing"
            raise Deep500Error(
                f"{visible(path)} has no array {name!r}; there is: {names}"
            )
        if not isinstance(link, h5py.HardLink):
            raise Deep500Error(f"{label} is a link to elsewhere, which is not followed")
        item = item[part]
    if not isinstance(item, h5py.Dataset):
        raise Deep500Error(f"{label} is no array")
    if item.external or item.is_virtual:
        raise Deep500Error(f"{label} lies in other files, which are not read")
    if item.dtype.kind not in "biuf" or not item.shape:
        raise Deep500Error(
            f"{label} holds {item.dtype} of the shape {item.shape}, not examples of numbers"
        )
    chunk_size = math.prod(item.chunks or (0,))
    chunk_bytes = chunk_size * item.dtype.itemsize
    if chunk_bytes > MOST_CHUNK_BYTES:
        raise Deep500Error(
            f"{label} has chunks of {chunk_bytes} bytes, and at most {MOST_CHUNK_BYTES} are unpacked"
        )
    return item


def _memory_map(path: str, array: Any) -> np.ndarray | None:
    """A memory map of the array; None if it is stored in chunks, compressed or incomplete."""
    offset = array.id.get_offset()
    if offset is None or array.chunks is not None or not array.size:
        return None
    if offset + array.nbytes > os.path.getsize(path):
        return None
    mapped = np.memmap(path, array.dtype, "r", offset, array.shape)
    return np.asarray(mapped)


def _members(path: str) -> list[str]:
    with _open_file(path) as file:
        try:
            return list(file)
        except Exception as error:  # h5py raises many kinds for a damaged file
            raise _damaged(path, error) from None


def _open_file(path: str) -> Any:
    h5py = _h5py()
    try:
        return h5py.File(path, "r")
    except Exception as error:  # h5py raises many kinds for a damaged file
        raise _damaged(path, error) from None


def _damaged(path: str, error: Exception) -> Deep500Error:
    return Deep500Error(f"{visible(path)} is no complete HDF5 file: {one_line(error)}")


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise Unsupported(
            "HDF5 files need h5py, which is not installed: pip install h5py"
        ) from None
    return h5py
