"""Arrays in files of NumPy: memory maps of .npy files, or the members of an .npz file."""

import zipfile
from pathlib import Path

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error, one_line, visible
from ._files import MOST_BYTES, find_files, shown
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
        return NumpyDataset(arrays, self.validation, self.test, self.seed).load()


def memory_map(path: Path) -> np.ndarray:
    """The array of a .npy file, which stays in the file."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy raises many kinds for a damaged file
        raise Deep500Error(
            f"{shown(path)} is no complete .npy file of numbers: {one_line(error)}"
        ) from None


def _members(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays of these names, in memory."""
    file = shown(path)
    try:
        with zipfile.ZipFile(path) as container:
            size = sum(member.file_size for member in container.infolist())
            if size > MOST_BYTES:
                raise Deep500Error(
                    f"{file} unpacks to {size} bytes, and at most {MOST_BYTES} are read: use .npy files"
                )
        with np.load(path, allow_pickle=False) as arrays:
            missing = [name for name in names if name not in arrays]
            if missing:
                raise Deep500Error(
                    f"{file} has no array {missing[0]!r}; it has: {visible(', '.join(arrays))}"
                )
            return {name: arrays[name] for name in names}
    except Deep500Error:
        raise
    except (
        Exception
    ) as error:  # zipfile, zlib and NumPy raise many kinds for a damaged file
        raise Deep500Error(
            f"{file} is no complete .npz file of numbers: {one_line(error)}"
        ) from None
