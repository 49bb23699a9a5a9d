"""Stores the same examples in several containers: memory maps, HDF5, and in memory."""

import mmap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...contracts.dataset import Column, Split
from ...datasets import hdf5_file, numpy_files
from ...datasets._columns import RowsColumn
from .jobs import DatasetJob

HDF5 = "examples.h5"


def write_containers(folder: Path, split: Split, containers: Sequence[str]) -> None:
    """Write all examples of the split for these containers."""
    arrays = split.batch(slice(None))
    if "npy" in containers or "memory" in containers:
        for name, values in arrays.items():
            np.save(folder / f"{name}.npy", values)
    if "hdf5" in containers:
        import h5py

        with h5py.File(folder / HDF5, "w") as file:
            for name, values in arrays.items():
                file.create_dataset(name, data=values)


def opened(job: DatasetJob, original: Split) -> Split:
    """The examples in the container of the job; `original` are those of the data set itself."""
    folder = Path(job.folder)
    columns: dict[str, np.ndarray | Column] = {}
    for name in original.columns:
        file = folder / f"{name}.npy"
        if job.container == "hdf5":
            columns[name] = hdf5_file.Hdf5Column(str(folder / HDF5), name)
        elif job.container == "npy":
            mapped = numpy_files.memory_map(file)
            columns[name] = RowsColumn(mapped, np.arange(len(mapped)))
        elif job.container == "memory":
            columns[name] = np.load(file, allow_pickle=False)
        else:
            return original
    return Split(columns)


def files_of(job: DatasetJob, original: Split) -> list[str]:
    """The files that are read by the job."""
    folder = Path(job.folder)
    if job.container == "hdf5":
        return [str(folder / HDF5)]
    if job.container == "npy":
        return [str(folder / f"{name}.npy") for name in original.columns]
    if job.container == "memory":
        return []
    paths: list[str] = []
    for column in original.columns.values():
        paths += _column_files(column)
    return paths


def maps_of(split: Split) -> list[mmap.mmap]:
    """The memory maps that the columns of a split use."""
    maps: list[mmap.mmap] = []
    for column in split.columns.values():
        for array in _memory_maps(column):
            maps.append(array._mmap)  # type: ignore[attr-defined]
    return maps


def _column_files(column: object) -> list[str]:
    """The files of a column: images, a file, or the memory map of an array."""
    paths = getattr(column, "paths", None)
    if paths:
        return list(paths)
    path = getattr(column, "path", None)
    if path:
        return [path]
    return [str(array.filename) for array in _memory_maps(column)]


def _memory_maps(column: object) -> list[np.memmap]:
    """The memory maps that a column, or a column within it, reads from."""
    source = getattr(column, "source", None)
    mapped = getattr(column, "mapped", None)
    maps = []
    for array in (column, source, mapped, *getattr(column, "parts", ())):
        if isinstance(array, Column) and array is not column:
            maps += _memory_maps(array)
            continue
        while array is not None and not isinstance(array, Column):
            if isinstance(array, np.memmap) and array.filename:
                maps.append(array)
                break
            array = getattr(array, "base", None)
    return maps
