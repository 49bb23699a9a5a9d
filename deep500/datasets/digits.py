"""The digits data set of scikit-learn: 1797 grey pictures of 8 × 8, which are part of that package."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error


class Digits(Dataset):
    """Handwritten digits in three fixed splits of about 60, 20 and 20 per cent of every class."""

    shape = (1, 8, 8)
    classes = 10

    def load(self) -> dict[str, Split]:
        table = np.loadtxt(_file(), delimiter=",")
        images, labels = table[:, :-1], table[:, -1]
        x = (images / 16).astype(np.float32).reshape(-1, *self.shape)
        label = labels.astype(np.int64)
        splits = {}
        for name, rows in _parts(label).items():
            splits[name] = Split({"x": x[rows], "label": label[rows]})
        return splits


def _file() -> Path:
    """The file of scikit-learn, whose import would take a second."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise Deep500Error(
            "the data set Digits comes with scikit-learn, which is not installed: "
            "pip install scikit-learn"
        )
    return Path(package.origin).with_name("datasets") / "data" / "digits.csv.gz"


def _parts(label: np.ndarray) -> dict[str, np.ndarray]:
    """The rows of each split.

    They result from a stable sort of raw random bits, and so are the same with every version of NumPy.
    """
    bits = np.random.Philox(key=500).random_raw(len(label))
    order = np.argsort(bits, kind="stable")
    parts: dict[str, list[np.ndarray]] = {
        "train": [],
        "validation": [],
        "test": [],
    }
    for digit in np.unique(label):
        rows = order[label[order] == digit]
        fifth = round(len(rows) / 5)
        cuts = [len(rows) - 2 * fifth, len(rows) - fifth]
        train, validation, test = np.split(rows, cuts)
        parts["train"].append(train)
        parts["validation"].append(validation)
        parts["test"].append(test)
    return {name: np.sort(np.concatenate(rows)) for name, rows in parts.items()}
