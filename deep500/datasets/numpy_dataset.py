"""Arrays in memory, divided into three splits."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from ..contracts.dataset import Column, Dataset, Split
from ..errors import Deep500Error
from ._columns import RowsColumn
from ._parts import random_parts


class NumpyDataset(Dataset):
    """Arrays of equal length by name. `validation` and `test` are shares of the examples, drawn with the seed.

    Memory maps are not loaded into memory but read by index.
    """

    arrays: Mapping[str, np.ndarray]
    validation: float = 0.1
    test: float = 0.1
    seed: int = 0
    # number of classes; 0: one more than the largest label
    classes: int = field(default=0, kw_only=True)  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.arrays, Mapping) or not self.arrays:
            raise Deep500Error(
                "NumpyDataset takes arrays by name, such as "
                'd5.NumpyDataset({"x": inputs, "label": labels})'
            )
        arrays: dict[str, np.ndarray] = {}
        for name, values in self.arrays.items():
            arrays[str(name)] = np.asanyarray(values)
        lengths = {values.shape[:1] for values in arrays.values()}
        if len(lengths) > 1 or () in lengths:
            raise Deep500Error(
                f"the arrays have one entry per example each, and these differ: {_shapes(arrays)}"
            )
        object.__setattr__(self, "arrays", arrays)
        self._parts()

    def load(self) -> dict[str, Split]:
        splits: dict[str, Split] = {}
        for split, rows in self._parts().items():
            columns = {}
            for name, values in self.arrays.items():
                columns[name] = _chosen_rows(values, rows)
            splits[split] = Split(columns)
        return splits

    def _parts(self) -> dict[str, np.ndarray]:
        size = len(next(iter(self.arrays.values())))
        return random_parts(size, self.validation, self.test, self.seed)

    def __repr__(self) -> str:
        shapes = _shapes(self.arrays)
        return (
            f"NumpyDataset({shapes}; {self.validation}, {self.test}, seed={self.seed})"
        )

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, NumpyDataset) and self._digest() == other._digest()

    def __hash__(self) -> int:
        return hash(self._digest())

    def _digest(self) -> tuple[Any, ...]:
        return (
            Split(self.arrays).digest(),
            self.validation,
            self.test,
            self.seed,
            self.classes,
        )


def _shapes(arrays: Mapping[str, np.ndarray]) -> str:
    shapes = [f"{name} {values.shape}" for name, values in arrays.items()]
    return ", ".join(shapes)


def _chosen_rows(values: np.ndarray, rows: np.ndarray) -> np.ndarray | Column:
    if isinstance(values, np.memmap):
        return RowsColumn(values, rows)
    return values[rows]
