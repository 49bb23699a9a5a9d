"""A table of numbers in a text file, with names in its first line."""

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
    """Columns of a table: the features are "x", and either numbers ("target") or classes ("label") are learnt.

    `target` names columns of numbers, `label` one column of classes, whose texts are numbered in sorted order; without
    either, the last column is the target. With `standardise`, features have mean 0 and deviation 1 over the training
    data; the other splits are changed by the same numbers.
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
        """The texts of the label column, in the order of their numbers."""
        names, rows = self._table()
        place = self._places(names, (self.label,))[0]
        return sorted({row[place] for row in rows})

    def load(self) -> dict[str, Split]:
        names, rows = self._table()
        learnt = self.target or (self.label or names[-1],)
        places = self._places(names, learnt)
        features = [place for place in range(len(names)) if place not in places]
        if not features:
            raise Deep500Error(f"{self._shown()} has no column left to learn from")
        x = self._numbers(names, rows, features)
        if self.label:
            texts = [row[places[0]] for row in rows]
            answers = {"label": _numbered(texts)}
        else:
            answers = {"target": self._numbers(names, rows, places).astype(np.float32)}
        parts = random_parts(len(rows), self.validation, self.test, self.seed)
        if self.standardise:
            x = _standardised(x, parts["train"])
        arrays = {"x": x.astype(np.float32), **answers}
        splits: dict[str, Split] = {}
        for split, some in parts.items():
            splits[split] = Split(
                {name: values[some] for name, values in arrays.items()}
            )
        return splits

    def _shown(self) -> str:
        return visible(self.file)

    def _places(self, names: list[str], wanted: tuple[str, ...]) -> list[int]:
        for name in wanted:
            if name not in names:
                raise Deep500Error(
                    f"{self._shown()} has no column {name!r}; it has: {visible(', '.join(names))}"
                )
        return [names.index(name) for name in wanted]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """The names of the columns, and all rows as texts."""
        path = self.files()["table"]
        try:
            text = read_bytes(path, MOST_BYTES).decode("utf-8-sig")
            reader = csv.reader(
                io.StringIO(text, newline=""), delimiter=self.delimiter, strict=True
            )
            rows = [row for row in reader if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise Deep500Error(
                f"{self._shown()} is no table: {one_line(error)}"
            ) from None
        if len(rows) < 2:
            raise Deep500Error(
                f"{self._shown()} is empty: a line of names and rows are needed"
            )
        names = [name.strip() for name in rows[0]]
        if len(set(names)) < len(names):
            raise Deep500Error(f"{self._shown()} has two columns of the same name")
        for number, row in enumerate(rows[1:], 2):
            if len(row) != len(names):
                raise Deep500Error(
                    f"{self._shown()}: row {number} has {len(row)} entries, and there are {len(names)} "
                    "columns"
                )
        return names, rows[1:]

    def _numbers(
        self, names: list[str], rows: list[list[str]], places: list[int]
    ) -> np.ndarray:
        numbers = np.empty((len(rows), len(places)))
        for number, row in enumerate(rows):
            for column, place in enumerate(places):
                numbers[number, column] = self._number(
                    row[place], number + 2, names[place]
                )
        return numbers

    def _number(self, text: str, row: int, name: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise Deep500Error(
                f"{self._shown()}: row {row} has {visible(text[:40])!r} in the column {visible(name)!r}, "
                "and a finite number is needed"
            )
        return value


def _standardised(x: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Mean 0 and deviation 1 over the training rows; a feature that does not vary becomes 0."""
    deviation = x[train].std(axis=0)
    return (x - x[train].mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def _numbered(texts: list[str]) -> np.ndarray:
    """For every text its place among the different ones."""
    places = {text: place for place, text in enumerate(sorted(set(texts)))}
    return np.array([places[text] for text in texts], np.int64)
