"""Splits of labelled pictures: the test split is given, validation is drawn from the training examples."""

from collections.abc import Sequence

import numpy as np

from ..contracts.dataset import Split
from ..errors import Deep500Error
from ._columns import Pixels
from ._parts import check_seed, random_order


def labelled_splits(
    train: tuple[Sequence[np.ndarray], np.ndarray],
    test: tuple[Sequence[np.ndarray], np.ndarray],
    validation: float,
    seed: int,
) -> dict[str, Split]:
    """The three splits; `train` and `test` are pairs of pictures (arrays of bytes to be concatenated) and labels."""
    train_pictures, train_labels = train
    test_pictures, test_labels = test
    rows = train_and_validation(len(train_labels), validation, seed)
    train_rows, validation_rows = rows
    test_rows = np.arange(len(test_labels))
    return {
        "train": _split(train_pictures, train_labels, train_rows),
        "validation": _split(train_pictures, train_labels, validation_rows),
        "test": _split(test_pictures, test_labels, test_rows),
    }


def _split(
    pictures: Sequence[np.ndarray], labels: np.ndarray, rows: np.ndarray
) -> Split:
    label = labels[rows].astype(np.int64)
    return Split({"x": Pixels(pictures, rows), "label": label})


def train_and_validation(
    size: int, validation: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows for training and for validation, drawn with the seed from `size` examples."""
    if not 0 < validation < 1:
        raise Deep500Error(
            f"validation is {validation}: it is the share of the training examples that is for "
            "choosing, above 0 and below 1"
        )
    check_seed(seed)
    if size < 2:
        raise Deep500Error(
            f"there are {size} examples for training, and two splits need 2 at least"
        )
    count = min(size - 1, max(1, round(size * validation)))
    order = random_order(size, seed)
    return np.sort(order[count:]), np.sort(order[:count])


def check_labels(name: str, labels: np.ndarray, classes: int) -> None:
    """Raise a Deep500Error if there are labels beyond the classes of a data set."""
    low, high = labels.min(), labels.max()
    if high >= classes or low < 0:
        raise Deep500Error(
            f"{name} has labels from {low} to {high}, and there are {classes} classes: 0 to {classes - 1}"
        )
