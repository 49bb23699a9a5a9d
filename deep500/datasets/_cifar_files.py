"""Reads the binary version of CIFAR, whose records have some bytes for labels and 3072 for a picture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import Deep500Error
from ..home import data_folder
from ._files import find_files, printable_path
from ._labelled import check_labels

SHAPE = (3, 32, 32)
PIXELS = 3072


def cifar_files(
    name: str, folder: str, binary: str, pickled: str, names: Sequence[str]
) -> dict[str, Path]:
    """The files of the binary version; raises a Deep500Error for the pickled version, since unpickling runs code."""
    choices = {file: (file,) for file in names}
    try:
        return find_files(name, folder, (binary,), choices)
    except Deep500Error:
        root = data_folder(folder)
        for candidate in (root / pickled, root):
            if _is_pickled(candidate):
                raise Deep500Error(
                    f"{printable_path(candidate)} holds the pickled version of {name}, and unpickling a file can run "
                    f"any code: get the binary version, whose folder is {binary}"
                ) from None
        raise


def _is_pickled(folder: Path) -> bool:
    names = ("data_batch_1", "batches.meta", "meta")
    return any((folder / name).exists() for name in names)


def read_cifar(
    path: Path, label_bytes: int, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The pictures, as a memory map, and the last label of every record."""
    record_bytes = label_bytes + PIXELS
    size = path.stat().st_size
    file = printable_path(path)
    if size == 0 or size % record_bytes:
        fault = "is empty" if size == 0 else "is truncated"
        raise Deep500Error(
            f"{file} {fault}: it has {size} bytes, and a record of the binary version has {record_bytes}"
        )
    shape = (size // record_bytes, record_bytes)
    records = np.memmap(path, np.uint8, "r", 0, shape)
    labels = np.array(records[:, label_bytes - 1])
    check_labels(file, labels, classes)
    pixels = np.asarray(records)[:, label_bytes:]
    pictures = pixels.reshape(-1, *SHAPE)
    return pictures, labels
