"""Loads the splits of a data set, checks what its `load` returned, and sets examples aside for validation."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import Deep500Error, Deep500Warning
from .dataset import Column, Dataset, Split, is_streamed
from .sampler import shuffled

SHARE = 0.1  # of the training examples, for data without a split for validation
# keeps this order apart from those of samplers, whose streams are numbered by epoch
STREAM = 1 << 63


def loaded_splits(dataset: Dataset) -> dict[str, Split]:
    """The splits of a data set, each with the number of classes that it declares; always one for validation."""
    name = type(dataset).__name__
    splits = complete_splits(dataset.load(), f"the `load` of {name} returns")
    classes = getattr(dataset, "classes", 0)
    if not isinstance(classes, int) or not classes:
        return splits
    return {
        name: replace(split, classes=split.classes or classes)
        for name, split in splits.items()
    }


def complete_splits(splits: Any, source: str = "the data are") -> dict[str, Split]:
    """The splits, with one for validation; raises a Deep500Error for anything else.

    Without a split "validation", a tenth of "train" is set aside, always the same rows, and a warning says so.
    """
    check_splits(splits, source)
    train = splits.get("train")
    if "validation" in splits or train is None or train.fault or len(train) < 2:
        return dict(splits)  # complete, or refused by the checks of the data
    rest, validation = _divided(train)
    warnings.warn(
        f"the data have no split 'validation': {len(validation)} of the {len(train)} examples of 'train' are set "
        "aside for it",
        Deep500Warning,
        stacklevel=3,
    )
    return {**splits, "train": rest, "validation": validation}


def check_splits(splits: Any, source: str) -> None:
    """Raise a Deep500Error unless these are splits by name, each with columns of its own."""
    if not isinstance(splits, Mapping):
        kind = type(splits).__name__
        raise Deep500Error(
            f"{source} a {kind}: give splits by name, "
            '{"train": d5.Split({"x": …, "label": …}), "validation": …, "test": …}'
        )
    for name, split in splits.items():
        if not isinstance(split, Split):
            kind = type(split).__name__
            raise Deep500Error(
                f"{source} a {kind} as {name!r}: give a d5.Split, such as "
                'd5.Split({"x": inputs, "label": labels})'
            )
        _check_columns(split, f"{source} a split {name!r} with")


def _check_columns(split: Split, source: str) -> None:
    columns: Any = split.columns
    if not isinstance(columns, Mapping) or not columns:
        raise Deep500Error(
            f'{source} no arrays by name: d5.Split({{"x": inputs, "label": labels}})'
        )
    for name, column in columns.items():
        if not isinstance(column, np.ndarray | Column):
            kind = type(column).__name__
            raise Deep500Error(
                f"{source} a {kind} as {name!r}: give a NumPy array, or a d5.Column"
            )
        if len(column.shape) == 0:
            raise Deep500Error(
                f"{source} a single number as {name!r}: an array has one entry for each example"
            )


def _divided(train: Split) -> tuple[Split, Split]:
    """The rows that are left to train on, and those for validation."""
    size = len(train)
    count = max(1, round(size * SHARE))
    order = shuffled(size, 0, STREAM)
    validation = _chosen(train, np.sort(order[:count]))
    rest = _chosen(train, np.sort(order[count:]))
    return rest, replace(validation, augmentations=())


def _chosen(split: Split, rows: np.ndarray) -> Split:
    columns: dict[str, np.ndarray | Column] = {}
    for name, column in split.columns.items():
        if is_streamed(column):
            columns[name] = _ChosenRows(column, rows)
        else:
            columns[name] = column[rows]
    return replace(split, columns=columns)


class _ChosenRows(Column):
    """Some rows of a column that is not in memory."""

    def __init__(self, source: np.ndarray | Column, rows: np.ndarray):
        self.source = source
        self.rows = rows
        self.shape = (len(rows), *source.shape[1:])
        self.dtype = source.dtype

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        out[...] = self.source[self.rows[indices]]

    def digest(self) -> str:
        return Split({"source": self.source, "rows": self.rows}).digest()
