"""A table of numbers in a CSV file, with column names in its first line."""

import csv
import io
import math
from pathlib import Path

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error, one_line, visible
from ._files import one_file, read_bytes
from ._parts import random_parts

MOST_BYTES = 1 << 29


class CsvFile(Dataset):
    """Columns of a table: "x" has the features; what is learnt are numbers ("target") or classes ("label").

    `target` names columns of numbers, `label` one column of classes, which are numbered in sorted order; without
    either, the last column is the target. With `standardise`, features have mean 0 and standard deviation 1 over the
    training data; the other splits are shifted and scaled by the same numbers.
    """

    file: str = ""
    folder: str = ""
    target: tuple[str, ...] = ()
    label: str = ""
    delimiter: str = ","
    standardise: bool = True
    validation: float = 0.1
    test: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target and self.label:
            raise Deep500Error(
                "target and label are both given: a table is for regression or for classification"
            )
        if len(self.delimiter) != 1:
            raise Deep500Error(
                f"the delimiter is {self.delimiter!r}: give one character"
            )

    def files(self) -> dict[str, Path]:
        return {"table": one_file("csv_file", self.folder, self.file)}

    def class_names(self) -> list[str]:
        """The names of the classes in the label column, in the order of their numbers."""
        names, rows = self._table()
        [column] = self._column_indices(names, (self.label,))
        classes = {row[column] for row in rows}
        return sorted(classes)

    def load(self) -> dict[str, Split]:
        names, rows = self._table()
        targets = self._column_indices(names, self._target_names(names))
        features = [index for index in range(len(names)) if index not in targets]
        if not features:
            raise Deep500Error(
                f"{self._printable_file()} has no column left to learn from"
            )
        x = self._numbers(names, rows, features)
        arrays: dict[str, np.ndarray] = {}
        if self.label:
            classes = [row[targets[0]] for row in rows]
            arrays["label"] = _numbered(classes)
        else:
            numbers = self._numbers(names, rows, targets)
            arrays["target"] = numbers.astype(np.float32)
        parts = random_parts(len(rows), self.validation, self.test, self.seed)
        if self.standardise:
            x = _standardised(x, parts["train"])
        x = x.astype(np.float32)
        splits: dict[str, Split] = {}
        for split, part in parts.items():
            columns = {"x": x[part]}
            for name, values in arrays.items():
                columns[name] = values[part]
            splits[split] = Split(columns)
        return splits

    def _target_names(self, names: list[str]) -> tuple[str, ...]:
        """The columns to learn: those that were named, by default the last one."""
        if self.target:
            return self.target
        return (self.label or names[-1],)

    def _printable_file(self) -> str:
        return visible(self.file)

    def _column_indices(self, names: list[str], selected: tuple[str, ...]) -> list[int]:
        for name in selected:
            if name not in names:
                columns = visible(", ".join(names))
                raise Deep500Error(
                    f"{self._printable_file()} has no column {name!r}; it has: {columns}"
                )
        return [names.index(name) for name in selected]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """The names of the columns, and all rows as strings."""
        path = self.files()["table"]
        file = self._printable_file()
        try:
            text = read_bytes(path, MOST_BYTES).decode("utf-8-sig")
            lines = io.StringIO(text, newline="")
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            rows = [row for row in reader if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise Deep500Error(f"{file} is no table: {one_line(error)}") from None
        if len(rows) < 2:
            raise Deep500Error(f"{file} is empty: a line of names and rows are needed")
        names = [name.strip() for name in rows[0]]
        if len(set(names)) < len(names):
            raise Deep500Error(f"{file} has two columns of the same name")
        for number, row in enumerate(rows[1:], 2):
            if len(row) != len(names):
                raise Deep500Error(
                    f"{file}: row {number} has {len(row)} entries, and there are {len(names)} columns"
                )
        return names, rows[1:]

    def _numbers(
        self, names: list[str], rows: list[list[str]], columns: list[int]
    ) -> np.ndarray:
        """The entries of these columns as numbers."""
        numbers = np.empty((len(rows), len(columns)))
        for row_index, row in enumerate(rows):
            line = row_index + 2
            for position, column in enumerate(columns):
                number = self._number(row[column], line, names[column])
                numbers[row_index, position] = number
        return numbers

    def _number(self, text: str, row: int, name: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            file = self._printable_file()
            entry, column = visible(text[:40]), visible(name)
            raise Deep500Error(
                f"{file}: row {row} has {entry!r} in the column {column!r}, and a finite number is needed"
            )
        return value


def _standardised(x: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Shift and scale to mean 0 and standard deviation 1 over the training rows; a constant feature becomes 0."""
    mean = x[train].mean(axis=0)
    deviation = x[train].std(axis=0)
    return (x - mean) / np.where(deviation > 0, deviation, 1)


def _numbered(classes: list[str]) -> np.ndarray:
    """Replace every class by its index among the sorted distinct ones."""
    distinct = sorted(set(classes))
    numbers = {name: number for number, name in enumerate(distinct)}
    return np.array([numbers[name] for name in classes], np.int64)
