"""Sums of numbers that were rounded beforehand, so that adding them is exact (Demmel and Nguyen, 2013)."""

import math
from collections.abc import Sequence

import numpy as np

from ..contracts.reduction import (
    Frame,
    ReproducibleReduction,
    added_specials,
    checked_rows,
    checked_values,
    not_finite,
)
from ..errors import Deep500Error
from ._bins import BinSum, bin_unit
from ._native import call, frame_of, width

DIGITS = 53
# rounders above this exponent are those of smaller numbers, which are scaled back at the end
MOST_EXPONENT = 1022
SCALED_BY = 128


class PreRounded(ReproducibleReduction):
    """Every number is split into `levels` parts, each a multiple of one unit: sums of such parts are exact.

    With two `sweeps`, the units follow from the largest number and from how many there are, which every part of the
    sum has to know (`frame`). With one sweep, units are fixed powers of 2^40, and the highest that occur are kept.
    Numbers below all levels are left out: the bound says how much that is. NaN and infinities have IEEE's sum, a sum
    beyond the range is an infinity, denormals count as other numbers do (where the processor does not flush them).
    """

    levels: int = 2
    sweeps: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.levels not in (1, 2, 3):
            raise Deep500Error(f"levels of PreRounded is {self.levels}: give 1, 2 or 3")
        if self.sweeps not in (1, 2):
            raise Deep500Error(f"sweeps of PreRounded is {self.sweeps}: give 1 or 2")

    @property
    def needs_frame(self) -> bool:
        return self.sweeps == 2

    def frame(self, values: np.ndarray) -> Frame:
        return frame_of(checked_values(values))

    def partial(
        self, values: np.ndarray, first: int = 0, frame: Frame | None = None
    ) -> np.ndarray:
        """With one sweep the words of a BinSum; with two the top exponent, what is not finite, and all levels' sums."""
        values = checked_values(values)
        if self.sweeps == 1:
            return BinSum(self.levels).add(values).words
        if frame is None:
            raise Deep500Error(
                "PreRounded with two sweeps needs the frame of all numbers"
            )
        if not math.isfinite(frame.largest):
            return np.array([0, not_finite(values), *[0.0] * self.levels])
        exponent, rounders, scale = self._rounders(frame)
        sums = np.zeros(self.levels)
        if not call(
            f"levels{width(values.dtype)}",
            values,
            values.size,
            self.levels,
            np.float64(scale),
            rounders,
            sums,
        ):
            sums = level_sums(values, scale, rounders)
        return np.array([exponent, 0.0, *sums])

    def merge(self, partials: Sequence[np.ndarray]) -> np.ndarray:
        if self.sweeps == 1:
            return BinSum.merged(self.levels, partials).words
        stacked = np.stack(partials)
        special = added_specials(stacked[:, 1].tolist())
        return np.array([stacked[0, 0], special, *stacked[:, 2:].sum(axis=0)])

    def finish(self, partial: np.ndarray) -> float:
        if self.sweeps == 1:
            return BinSum(self.levels, partial).value()
        exponent, special, *sums = partial.tolist()
        if special:
            return special
        # the smallest first, which is a fixed order, too
        total = 0.0
        for part in reversed(sums):
            total += part
        return _unscaled(total, exponent)

    def bound(self, values: np.ndarray) -> float:
        values = checked_values(values)
        frame = self.frame(values)
        if not math.isfinite(frame.largest):
            return 0.0
        rounding = self.levels * math.ulp(abs(self.sum(values)))
        if self.sweeps == 1:
            return values.size * bin_unit(frame.largest, self.levels) / 2 + rounding
        exponent, rounders, _ = self._rounders(frame)
        unit = _unscaled(math.ulp(rounders[-1]), exponent)
        # the sums of the levels are rounded where they are added to each other
        return values.size * unit / 2 + rounding

    def sum_rows(self, rows: Sequence[np.ndarray], out: np.ndarray) -> None:
        """By two sweeps, with units for every element."""
        rows = checked_rows(rows, out)
        stacked = np.stack(rows).astype(np.float64)
        largest = np.abs(stacked).max(axis=0)
        _, exponents = np.frexp(largest)
        head = _head(len(rows))
        is_large = exponents + head > MOST_EXPONENT
        shift = np.where(is_large, -SCALED_BY, 0)
        rest = np.ldexp(stacked, shift)
        exponents = exponents + shift
        sums = []
        with np.errstate(invalid="ignore"):
            for _ in range(self.levels):
                rounder = np.ldexp(1.5, exponents + head)
                part = (rest + rounder) - rounder
                sums.append(part.sum(axis=0))
                rest -= part
                exponents = exponents + head - DIGITS
            total = np.zeros(out.size)
            for part in reversed(sums):
                total += part
            total = np.ldexp(total, -shift)
        for place in np.flatnonzero(~np.isfinite(largest)):
            total[place] = not_finite(stacked[:, place])
        with np.errstate(over="ignore"):
            out[:] = total

    def _rounders(self, frame: Frame) -> tuple[int, np.ndarray, float]:
        """Whether numbers are scaled down (as 0 or 1), the number that rounds for every level, and the scale."""
        _, exponent = math.frexp(frame.largest)
        head = _head(frame.numbers)
        is_large = exponent + head > MOST_EXPONENT
        if is_large:
            exponent -= SCALED_BY
        rounders = []
        for _ in range(self.levels):
            rounders.append(math.ldexp(1.5, exponent + head))
            exponent += head - DIGITS
        scale = 2.0**-SCALED_BY if is_large else 1.0
        return int(is_large), np.array(rounders), scale


def level_sums(values: np.ndarray, scale: float, rounders: np.ndarray) -> np.ndarray:
    """The exact sum of every level's parts."""
    rest = values.astype(np.float64) * scale
    sums = []
    for rounder in rounders:
        part = (rest + rounder) - rounder
        sums.append(part.sum())
        rest -= part
    return np.array(sums)


def _head(count: int) -> int:
    """The bits that so many numbers need above the largest of them, with one to spare."""
    return max(count - 1, 0).bit_length() + 1


def _unscaled(value: float, is_large: float) -> float:
    if not is_large:
        return value
    try:
        return math.ldexp(value, SCALED_BY)
    except OverflowError:
        return math.copysign(math.inf, value)
