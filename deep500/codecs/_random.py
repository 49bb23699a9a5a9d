"""Counter-based random numbers for codecs: the same key draws the same numbers, on every machine."""

from typing import Any

import numpy as np

from ..namespace import Namespace
from . import _native

LANES = 16  # blocks of Threefry whose numbers lie side by side
GROUP = 64  # numbers of 16 bits that so many blocks give


# for Threefry over uint32, whose sums wrap around by themselves
_WORDS = Namespace()
_WORDS.asarray = lambda value, dtype: np.uint32(value)


def random16(words: tuple[int, int], count: int) -> np.ndarray:
    """So many random numbers of 16 bits.

    Number 64 g + 16 part + lane is a half of a word of the block 16 g + lane.
    """
    numbers = np.empty(count, np.uint16)
    if _native.call("random16", words[0], words[1], count, numbers):
        return numbers
    groups = -(-count // GROUP)
    first, second = blocks(words, groups * LANES)
    parts = np.empty((groups, GROUP // LANES, LANES), np.uint16)
    for place, word in ((0, first), (2, second)):
        lanes = word.reshape(groups, LANES)
        parts[:, place] = lanes & np.uint32(0xFFFF)
        parts[:, place + 1] = lanes >> np.uint32(16)
    return parts.reshape(-1)[:count]


def blocks(words: tuple[int, int], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Both words of the first `count` blocks of Threefry under this key."""
    first, second = np.empty((2, count), np.uint32)
    if _native.call("blocks", *words, count, first, second):
        return first, second
    counters = np.arange(count, dtype=np.uint64)
    low = counters.astype(np.uint32)
    high = (counters >> np.uint64(32)).astype(np.uint32)
    key = np.array(words, np.uint32)
    with np.errstate(over="ignore"):
        return _WORDS.threefry((key[:1], key[1:]), low, high)


def uniform(words: tuple[int, int], count: int, dtype: Any) -> np.ndarray:
    """So many numbers inside of (0, 1), in steps of 2**-16, away from both ends alike."""
    drawn = random16(words, count).astype(dtype)
    return (drawn + drawn.dtype.type(0.5)) * drawn.dtype.type(2.0**-16)


def words64(words: tuple[int, int], count: int) -> np.ndarray:
    """So many whole numbers of 64 bits."""
    first, second = blocks(words, count)
    return (first.astype(np.uint64) << np.uint64(32)) | second
