"""The data-set contract: arrays by name, split for training, choosing and reporting."""

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..definition import Definition
from ..errors import lacking


@dataclass(frozen=True)
class Split:
    """Arrays of equal length by name, which the task of a run asks for: "x" and "label" for classification."""

    arrays: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def batch(self, indices: np.ndarray | slice) -> dict[str, np.ndarray]:
        return {name: values[indices] for name, values in self.arrays.items()}

    def digest(self) -> str:
        """SHA-256 of all arrays: their names, dtypes, shapes and elements."""
        total = hashlib.sha256()
        for name, values in sorted(self.arrays.items()):
            total.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
            total.update(_element_bytes(values))
        return total.hexdigest()


class Dataset(Definition):
    """Where data come from. `validation` is for choosing, `test` for reporting; they never overlap with `train`."""

    shape: ClassVar[tuple[int, ...]]  # of one input, where it is known before loading
    classes: ClassVar[int]  # of data for classification

    def load(self) -> dict[str, Split]:
        """The splits "train", "validation" and "test"; the same on every call."""
        raise lacking(self, "load")


def _element_bytes(values: np.ndarray) -> Any:
    """The elements in order, as anything that hashlib takes."""
    if values.dtype.hasobject:
        return repr(values.tolist()).encode()
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)
