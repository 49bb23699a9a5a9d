"""The reduction contract: sums whose bits depend on the numbers alone, not on their order or on who adds which part."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking
from .transport import Program, all_gather

DTYPES = ("float32", "float64")


class Frame(NamedTuple):
    """What is known of all numbers before they are added: how many, and their largest magnitude (NaN if one is)."""

    numbers: int
    largest: float


class ReproducibleReduction(Definition):
    """A reproducible sum of float32 or float64 numbers; the result is a float64.

    sum(values)                    The sum of an array.
    bound(values)                  How far `sum` may be from the exact sum, at most.
    sum_rows(rows, out)            The sums of arrays of the same length, element by element.
    workspace(rows, elements)      The bytes that this takes beside the arrays.

    A sum over ranks goes in parts: `yield from sum_over_ranks(reduction, values, first)`.
    frame(values)                  If it `needs_frame`: what every part has to know of all numbers.
    partial(values, first, frame)  One part as an array that can be sent; `first` is the number of its first element.
    merge(partials)                Several parts as one, exactly.
    finish(partial)                The sum, once all parts are merged.
    """

    def sum(self, values: np.ndarray) -> float:
        values = checked_values(values)
        frame = self.frame(values) if self.needs_frame else None
        return self.finish(self.partial(values, 0, frame))

    @property
    def needs_frame(self) -> bool:
        return False

    def frame(self, values: np.ndarray) -> Frame:
        raise lacking(self, "frame")

    @abstractmethod
    def partial(
        self, values: np.ndarray, first: int = 0, frame: Frame | None = None
    ) -> np.ndarray: ...

    @abstractmethod
    def merge(self, partials: Sequence[np.ndarray]) -> np.ndarray: ...

    @abstractmethod
    def finish(self, partial: np.ndarray) -> float: ...

    @abstractmethod
    def bound(self, values: np.ndarray) -> float: ...

    def sum_rows(self, rows: Sequence[np.ndarray], out: np.ndarray) -> None:
        raise lacking(self, "sum_rows")

    def workspace(self, rows: int, elements: int) -> int:
        """The bytes that `sum_rows` needs beside its arguments."""
        return 0


def sum_over_ranks(
    reduction: ReproducibleReduction, values: np.ndarray, first: int = 0
) -> Program:
    """The sum of the numbers of all ranks; `first` is the number of this rank's first one."""
    values = checked_values(values)
    frame = None
    if reduction.needs_frame:
        own = np.array(reduction.frame(values), np.float64)
        frames = yield from all_gather(own)
        frame = merged_frames([Frame(int(count), most) for count, most in frames])
    partial = reduction.partial(values, first, frame)
    partials = yield from all_gather(partial, uneven=True)
    return reduction.finish(reduction.merge(partials))


def merged_frames(frames: Sequence[Frame]) -> Frame:
    """What several parts are together."""
    count = sum(frame.numbers for frame in frames)
    largest = [frame.largest for frame in frames]
    if any(map(math.isnan, largest)):
        return Frame(count, math.nan)
    return Frame(count, max(largest, default=0.0))


def checked_values(values: np.ndarray) -> np.ndarray:
    """The numbers as a contiguous array of one dimension."""
    array = np.ascontiguousarray(values).reshape(-1)
    if array.dtype.name not in DTYPES:
        raise Deep500Error(
            f"reductions add {' or '.join(DTYPES)}, and {array.dtype} was given: convert it"
        )
    return array


def checked_rows(rows: Sequence[np.ndarray], out: np.ndarray) -> list[np.ndarray]:
    """The rows as contiguous arrays that go with `out`."""
    checked = [checked_values(row) for row in rows]
    for row in checked:
        if row.dtype != out.dtype or row.shape != out.shape:
            raise Deep500Error(
                f"rows of {out.dtype}{list(out.shape)} are added, and {row.dtype}{list(row.shape)} was given"
            )
    return checked


def not_finite(values: np.ndarray) -> float:
    """The IEEE sum of the numbers that are not finite: NaN or an infinity; 0 if there is none."""
    special = values[~np.isfinite(values)]
    if not special.size:
        return 0.0
    is_plus, is_minus = (special == np.inf).any(), (special == -np.inf).any()
    if np.isnan(special).any() or (is_plus and is_minus):
        return math.nan
    return math.inf if is_plus else -math.inf


def added_specials(values: Sequence[float]) -> float:
    """The sum of what `not_finite` has given for several parts."""
    return not_finite(np.array(values, np.float64))
