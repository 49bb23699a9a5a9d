"""Sums in fixed bins: one sweep, without knowing the largest number before."""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np

from ..contracts.reduction import added_specials, not_finite
from ._native import call, width

BIN_BITS = 40
BLOCK = 2048
# as in _loops.cpp
SCALED_FROM = 24
SCALED_BY = 128
DIGITS = 52


class BinSum:
    """Whole numbers in units of 2^(40 t), for the highest bins t that occurred.

    A number's parts depend on the number alone: it begins in the lowest bin that holds it, and every rounder is that
    of a bin. So it does not matter when a higher bin turns up. `words` is the state: whether there is a top bin, the
    top bin, what is not finite (0 nothing, 1 and -1 an infinity, 2 NaN), and two words for the total of every bin.
    """

    def __init__(self, levels: int, words: np.ndarray | None = None):
        self.levels = levels
        if words is None:
            words = np.zeros(3 + 2 * levels, np.int64)
        self.words = words

    def add(self, values: np.ndarray) -> Self:
        state = self.words
        name = f"bins{width(values.dtype)}"
        if not call(name, values, values.size, self.levels, state):
            self._add_by_numpy(values)
        if state[2]:
            state[:] = 0
            state[2] = _code(not_finite(values))
        return self

    def _add_by_numpy(self, values: np.ndarray) -> None:
        for start in range(0, values.size, BLOCK):
            block = values[start : start + BLOCK].astype(np.float64)
            largest = float(np.abs(block).max())
            if not math.isfinite(largest):
                self.words[2] = 1
                return
            if largest:
                self._add_block(block, bin_of(largest))

    def _add_block(self, block: np.ndarray, top: int) -> None:
        self.raise_to(top)
        top = int(self.words[1])
        shift = -SCALED_BY if top >= SCALED_FROM else 0
        rest = np.ldexp(block, shift)
        totals = []
        for level in range(self.levels):
            place = BIN_BITS * (top - level)
            rounder = math.ldexp(1.5, DIGITS + place + shift)
            part = (rest + rounder) - rounder
            totals.append(int(math.ldexp(part.sum(), -shift - place)))
            rest -= part
        self._add_totals(totals)

    def raise_to(self, top: int) -> None:
        """Make room for a higher bin; the lowest ones are forgotten."""
        totals = self.totals()
        if not self.words[0]:
            self.words[:2] = 1, top
            return
        shift = top - int(self.words[1])
        if shift <= 0:
            return
        self.words[1] = top
        self.words[3:] = 0
        self._add_totals([0] * shift + totals)

    def totals(self) -> list[int]:
        """The whole numbers of all bins, the highest first."""
        lows, highs = self.words[3::2].tolist(), self.words[4::2].tolist()
        pairs = zip(lows, highs, strict=True)
        return [(high << BIN_BITS) + low for low, high in pairs]

    def _add_totals(self, more: Sequence[int]) -> None:
        for level, total in enumerate(self.totals()):
            total += more[level]
            low = total & ((1 << BIN_BITS) - 1)
            self.words[3 + 2 * level : 5 + 2 * level] = low, total >> BIN_BITS

    @classmethod
    def merged(cls, levels: int, states: Sequence[np.ndarray]) -> Self:
        """Several parts as one."""
        whole = cls(levels)
        specials = [_special(int(state[2])) for state in states]
        whole.words[2] = _code(added_specials(specials))
        for state in states:
            if state[0] and not whole.words[2]:
                part = cls(levels, state.copy())
                top = max(int(state[1]), int(whole.words[1]) if whole.words[0] else -99)
                part.raise_to(top)
                whole.raise_to(top)
                whole._add_totals(part.totals())
        return whole

    def value(self) -> float:
        """The sum of all bins, rounded once."""
        if self.words[2]:
            return _special(int(self.words[2]))
        total = 0
        for part in self.totals():
            total = (total << BIN_BITS) + part
        lowest = BIN_BITS * (int(self.words[1]) - self.levels + 1)
        try:
            if lowest >= 0:
                return float(total << lowest)
            return total / (1 << -lowest)
        except OverflowError:
            return math.copysign(math.inf, total)


def bin_of(largest: float) -> int:
    """The lowest bin that holds a number: larger numbers than half of the next bin's unit do not occur in it."""
    _, exponent = math.frexp(largest)
    return math.ceil((exponent + 1) / BIN_BITS) - 1


def bin_unit(largest: float, levels: int) -> float:
    """The unit of the lowest bin that is kept."""
    if not largest:
        return 0.0
    return math.ldexp(1.0, BIN_BITS * (bin_of(largest) - levels + 1))


def _code(special: float) -> int:
    if math.isnan(special):
        return 2
    return int(math.copysign(1, special)) if special else 0


def _special(code: int) -> float:
    return {0: 0.0, 1: math.inf, -1: -math.inf}.get(code, math.nan)
