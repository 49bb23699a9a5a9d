"""Splits of pictures with labels: the given test part, and validation drawn from the training part."""

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
    """The three splits from pictures (arrays of bytes that follow each other) and labels."""
    train_rows, validation_rows = train_and_validation(len(train[1]), validation, seed)
    return {
        "train": _split(*train, train_rows),
        "validation": _split(*train, validation_rows),
        "test": _split(*test, np.arange(len(test[1]))),
    }


def _split(
    pictures: Sequence[np.ndarray], labels: np.ndarray, rows: np.ndarray
) -> Split:
    return Split({"x": Pixels(pictures, rows), "label": labels[rows].astype(np.int64)})


def train_and_validation(
    size: int, validation: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows for training and for choosing, of data whose test part is given."""
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
    """Refuse labels beyond the classes that a data set has."""
    if labels.max() >= classes or labels.min() < 0:
        raise Deep500Error(
            f"{name} has labels from {labels.min()} to {labels.max()}, and there are {classes} "
            f"classes: 0 to {classes - 1}"
        )
