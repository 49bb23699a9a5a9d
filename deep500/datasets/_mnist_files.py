"""The four IDX files that MNIST introduced, from which several data sets are made."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..contracts.dataset import Split
from ..errors import Deep500Error
from ._files import find_files, shown
from ._idx import read_idx
from ._labelled import check_labels, labelled_splits

STEMS = {
    "train pictures": "train-images-idx3-ubyte",
    "train labels": "train-labels-idx1-ubyte",
    "test pictures": "t10k-images-idx3-ubyte",
    "test labels": "t10k-labels-idx1-ubyte",
}


def mnist_files(name: str, folder: str, subfolders: Sequence[str]) -> dict[str, Path]:
    """The four files, plain or gzipped, by their roles."""
    choices = {role: (stem, f"{stem}.gz") for role, stem in STEMS.items()}
    return find_files(name, folder, subfolders, choices)


def mnist_splits(
    paths: dict[str, Path], validation: float, seed: int
) -> dict[str, Split]:
    parts = {part: _pictures_and_labels(paths, part) for part in ("train", "test")}
    return labelled_splits(parts["train"], parts["test"], validation, seed)


def _pictures_and_labels(
    paths: dict[str, Path], part: str
) -> tuple[list[np.ndarray], np.ndarray]:
    path = paths[f"{part} pictures"]
    pictures = read_idx(path, 3)
    labels = np.asarray(read_idx(paths[f"{part} labels"], 1))
    file = shown(path)
    if pictures.shape[1:] != (28, 28):
        raise Deep500Error(
            f"{file} has pictures of {pictures.shape[1:]}, and 28 × 28 is wanted"
        )
    if len(pictures) != len(labels):
        raise Deep500Error(
            f"{file} has {len(pictures)} pictures, and the file with their labels {len(labels)}"
        )
    check_labels(shown(paths[f"{part} labels"]), labels, 10)
    return [pictures[:, None]], labels
