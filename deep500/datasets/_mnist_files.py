"""Reads the four IDX files that MNIST introduced and that other data sets also use."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..contracts.dataset import Split
from ..errors import Deep500Error
from ._files import find_files, printable_path
from ._idx import read_idx
from ._labelled import check_labels, labelled_splits

STEMS = {
    "train pictures": "train-images-idx3-ubyte",
    "train labels": "train-labels-idx1-ubyte",
    "test pictures": "t10k-images-idx3-ubyte",
    "test labels": "t10k-labels-idx1-ubyte",
}


def mnist_files(name: str, folder: str, subfolders: Sequence[str]) -> dict[str, Path]:
    """The paths of the four files, plain or gzipped, by their roles."""
    choices = {role: (stem, f"{stem}.gz") for role, stem in STEMS.items()}
    return find_files(name, folder, subfolders, choices)


def mnist_splits(
    paths: dict[str, Path], validation: float, seed: int
) -> dict[str, Split]:
    train = _pictures_and_labels(paths, "train")
    test = _pictures_and_labels(paths, "test")
    return labelled_splits(train, test, validation, seed)


def _pictures_and_labels(
    paths: dict[str, Path], part: str
) -> tuple[list[np.ndarray], np.ndarray]:
    picture_path, label_path = (
        paths[f"{part} pictures"],
        paths[f"{part} labels"],
    )
    pictures = read_idx(picture_path, 3)
    labels = np.asarray(read_idx(label_path, 1))
    file = printable_path(picture_path)
    if pictures.shape[1:] != (28, 28):
        raise Deep500Error(
            f"{file} has pictures of {pictures.shape[1:]}, and 28 × 28 is wanted"
        )
    if len(pictures) != len(labels):
        raise Deep500Error(
            f"{file} has {len(pictures)} pictures, and the file with their labels {len(labels)}"
        )
    check_labels(printable_path(label_path), labels, 10)
    return [pictures[:, None]], labels
