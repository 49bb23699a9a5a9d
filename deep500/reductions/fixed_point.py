"""Sums of whole numbers: every number is rounded to a multiple of one unit first."""

import math
from collections.abc import Sequence

import numpy as np

from ..contracts.reduction import (
    Frame,
    ReproducibleReduction,
    checked_rows,
    checked_values,
)
from ..errors import Deep500Error
from ._native import call, frame_of, width

# bits of a rounded number: the loops round by adding 1.5 * 2^52
TERM_BITS = 51
# bits of a sum of rows, which are added in 64 bits
TOTAL_BITS = 62
LOW_BITS = 40
MOST_FRACTION = 900


class FixedPoint(ReproducibleReduction):
    """Every number as a multiple of 2^-fraction, ties to even, added as whole numbers.

    A number must be smaller than 2^(51 - fraction); one that is not, NaN and infinities are refused, and nothing ever
    wraps. What is smaller than half of the unit, denormals for instance, counts as 0. Without a `fraction`, the
    largest number sets the unit, so that every part has to know it before (`frame`). The error is at most half a unit
    for every number, and the rounding of the result.
    """

    fraction: int | None = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fraction is not None and not abs(self.fraction) <= MOST_FRACTION:
            raise Deep500Error(
                f"fraction of FixedPoint is {self.fraction}: give bits behind the point, from {-MOST_FRACTION} to "
                f"{MOST_FRACTION}, such as 40"
            )

    @property
    def needs_frame(self) -> bool:
        return self.fraction is None

    def frame(self, values: np.ndarray) -> Frame:
        return frame_of(values)

    def partial(
        self, values: np.ndarray, first: int = 0, frame: Frame | None = None
    ) -> np.ndarray:
        """The whole numbers' sum in two words, behind the bits of the fraction."""
        values = checked_values(values)
        fraction = self.fraction_for(frame)
        scale = np.float64(2.0**fraction)
        words = np.zeros(3, np.int64)
        name = f"fixed_sum{width(values.dtype)}"
        if not call(name, values, values.size, scale, words):
            words = _sum_by_numpy(values, scale)
        low, high, is_beyond = words
        if is_beyond:
            raise self.beyond(values, fraction)
        return np.array([fraction, low, high], np.int64)

    def merge(self, partials: Sequence[np.ndarray]) -> np.ndarray:
        fraction = int(partials[0][0])
        total = sum(_whole(partial) for partial in partials)
        return np.array([fraction, *_words(total)], np.int64)

    def finish(self, partial: np.ndarray) -> float:
        fraction = int(partial[0])
        total = _whole(partial)
        try:
            if fraction < 0:
                return float(total << -fraction)
            # a quotient of integers is rounded once
            return total / (1 << fraction)
        except OverflowError:
            return math.copysign(math.inf, total)

    def bound(self, values: np.ndarray) -> float:
        values = checked_values(values)
        frame = self.frame(values) if self.needs_frame else None
        half_unit = 2.0 ** (-self.fraction_for(frame) - 1)
        return values.size * half_unit + math.ulp(abs(self.sum(values))) / 2

    def sum_rows(self, rows: Sequence[np.ndarray], out: np.ndarray) -> None:
        rows = checked_rows(rows, out)
        fraction = self.fraction
        if fraction is None:
            raise Deep500Error(
                "FixedPoint adds rows in a unit that does not depend on them: give a fraction, such as FixedPoint(40)"
            )
        limit = term_limit(len(rows))
        bad = np.zeros(1, np.int64)
        addresses = np.array([row.ctypes.data for row in rows], np.int64)
        if not call(
            f"fixed_rows{width(out.dtype)}",
            addresses,
            len(rows),
            out.size,
            np.float64(2.0**fraction),
            np.float64(2.0**-fraction),
            np.float64(limit),
            out,
            bad,
        ):
            total = np.zeros(out.size, np.int64)
            for row in rows:
                bad |= not add_rounded(row, total, 2.0**fraction, limit)
            write_values(total, fraction, out)
        if bad[0]:
            raise self.beyond(np.concatenate(rows), fraction, limit)

    def fraction_for(self, frame: Frame | None) -> int:
        """The bits behind the point: the fixed ones, or as many as the largest number leaves."""
        if self.fraction is not None:
            return self.fraction
        if frame is None:
            raise Deep500Error(
                "FixedPoint(None) takes its unit from all numbers: give their frame"
            )
        if not math.isfinite(frame.largest):
            raise Deep500Error(
                f"FixedPoint adds finite numbers, and {frame.largest} is among them"
            )
        _, exponent = math.frexp(frame.largest)
        return max(-MOST_FRACTION, min(MOST_FRACTION, TERM_BITS - exponent - 1))

    def beyond(
        self,
        values: np.ndarray,
        fraction: int,
        limit: float = 2.0**TERM_BITS,
        subject: str = "FixedPoint",
    ) -> Deep500Error:
        """The error for numbers of which one cannot be added, with the fraction to choose."""
        largest = float(np.abs(values).max())
        if not math.isfinite(largest):
            return Deep500Error(
                f"{subject} adds finite numbers, and {largest} is among them"
            )
        _, exponent = math.frexp(largest)
        most = math.floor(math.log2(limit)) - exponent
        return Deep500Error(
            f"{subject} adds numbers below {limit * 2.0**-fraction:g}, and {largest:g} is among them: give "
            f"FixedPoint({most}) or less"
        )


def term_limit(terms: int) -> float:
    """The magnitude below which every one of so many whole numbers must be, so that their sum fits into 64 bits."""
    spare_bits = TOTAL_BITS - max(terms - 1, 0).bit_length()
    return 2.0 ** min(TERM_BITS, spare_bits)


def add_rounded(
    values: np.ndarray, total: np.ndarray, scale: float, limit: float
) -> bool:
    """Add the rounded multiples of numbers to whole numbers, one by one; False if a number was beyond the limit."""
    bad = np.zeros(1, np.int64)
    if not call(
        f"fixed_add{width(values.dtype)}",
        values,
        values.size,
        np.float64(scale),
        np.float64(limit),
        total,
        bad,
    ):
        scaled = values.astype(np.float64) * scale
        if not (np.abs(scaled) < limit).all():
            return False
        total += np.rint(scaled).astype(np.int64)
    return not bad[0]


def write_values(total: np.ndarray, fraction: int, out: np.ndarray) -> None:
    """Whole numbers as the floats that they stand for."""
    unit = np.float64(2.0**-fraction)
    name = f"fixed_value{width(out.dtype)}"
    if not call(name, total, total.size, unit, out):
        np.copyto(out, total.astype(np.float64) * unit, casting="same_kind")


def _sum_by_numpy(values: np.ndarray, scale: float) -> np.ndarray:
    with np.errstate(over="ignore"):
        rounded = np.rint(values.astype(np.float64) * scale)
    if not ((rounded >= -(2.0**TERM_BITS)) & (rounded < 2.0**TERM_BITS)).all():
        return np.array([0, 0, 1], np.int64)
    whole = rounded.astype(np.int64)
    total = int((whole >> LOW_BITS).sum()) << LOW_BITS
    total += int((whole & ((1 << LOW_BITS) - 1)).sum())
    return np.array([*_words(total), 0], np.int64)


def _words(total: int) -> tuple[int, int]:
    return total & ((1 << LOW_BITS) - 1), total >> LOW_BITS


def _whole(partial: np.ndarray) -> int:
    _, low, high = map(int, partial)
    return (high << LOW_BITS) + low
