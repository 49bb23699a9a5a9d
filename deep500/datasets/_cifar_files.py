"""The binary version of CIFAR: records of some bytes for labels and 3072 for a picture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import Deep500Error
from ..home import data_folder
from ._files import find_files, shown
from ._labelled import check_labels

SHAPE = (3, 32, 32)
PIXELS = 3072


def cifar_files(
    name: str, folder: str, binary: str, pickled: str, names: Sequence[str]
) -> dict[str, Path]:
    """The files of the binary version; the version for Python is refused, for it runs code when it is read."""
    choices = {file: (file,) for file in names}
    try:
        return find_files(name, folder, (binary,), choices)
    except Deep500Error:
        root = data_folder(folder)
        for place in (root / pickled, root):
            if _is_pickled(place):
                raise Deep500Error(
                    f"{shown(place)} holds the pickled version of {name}, and unpickling a file can run "
                    f"any code: get the binary version, whose folder is {binary}"
                ) from None
        raise


def _is_pickled(place: Path) -> bool:
    return any(
        (place / name).exists() for name in ("data_batch_1", "batches.meta", "meta")
    )


def read_cifar(
    path: Path, label_bytes: int, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The pictures, as a memory map, and the last label of every record."""
    record = label_bytes + PIXELS
    size = path.stat().st_size
    file = shown(path)
    if size == 0 or size % record:
        fault = "is empty" if size == 0 else "is truncated"
        raise Deep500Error(
            f"{file} {fault}: it has {size} bytes, and a record of the binary version has {record}"
        )
    records = np.memmap(path, np.uint8, "r", 0, (size // record, record))
    labels = np.array(records[:, label_bytes - 1])
    check_labels(file, labels, classes)
    pictures = np.asarray(records)[:, label_bytes:].reshape(-1, *SHAPE)
    return pictures, labels
