"""Arrays in NumPy files: memory maps of .npy files, or the members of an .npz file."""

import zipfile
from pathlib import Path

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error, one_line, visible
from ._files import MOST_BYTES, find_files, printable_path
from .numpy_dataset import NumpyDataset


class NumpyFiles(Dataset):
    """Arrays in .npy files that are named after them (`names`), or all in one .npz file (`file`).

    .npy files are memory maps, so they may be larger than the memory. Pickled objects are refused.
    """

    names: tuple[str, ...] = ("x", "label")
    file: str = ""
    folder: str = ""
    validation: float = 0.1
    test: float = 0.1
    seed: int = 0

    def files(self) -> dict[str, Path]:
        if self.file:
            choices = {"arrays": (self.file,)}
        else:
            choices = {name: (f"{name}.npy",) for name in self.names}
        return find_files("numpy_files", self.folder, (), choices)

    def load(self) -> dict[str, Split]:
        paths = self.files()
        if self.file:
            arrays = _members(paths["arrays"], self.names)
        else:
            arrays = {name: memory_map(path) for name, path in paths.items()}
        dataset = NumpyDataset(arrays, self.validation, self.test, self.seed)
        return dataset.load()


def memory_map(path: Path) -> np.ndarray:
    """A memory map of a .npy file."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy raises many kinds for a damaged file
        raise Deep500Error(
            f"{printable_path(path)} is no complete .npy file of numbers: {one_line(error)}"
        ) from None


def _members(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The members of these names, in memory."""
    file = printable_path(path)
    try:
        with zipfile.ZipFile(path) as container:
            members = container.infolist()
            size = sum(member.file_size for member in members)
            if size > MOST_BYTES:
                raise Deep500Error(
                    f"{file} unpacks to {size} bytes, and at most {MOST_BYTES} are read: use .npy files"
                )
        with np.load(path, allow_pickle=False) as arrays:
            for name in names:
                if name not in arrays:
                    present = visible(", ".join(arrays))
                    raise Deep500Error(
                        f"{file} has no array {name!r}; it has: {present}"
                    )
            return {name: arrays[name] for name in names}
    except Deep500Error:
        raise
    # zipfile, zlib and NumPy raise many kinds of errors for a damaged file
    except Exception as error:
        raise Deep500Error(
            f"{file} is no complete .npz file of numbers: {one_line(error)}"
        ) from None
