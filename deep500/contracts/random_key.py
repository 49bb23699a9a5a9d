"""Random keys: what decides the numbers that a random operator draws.

A key is four whole numbers. The first two come from the run's seed, the node and the step. The other two are the number
of the first example in the whole batch and the count of examples in this part of it: an element is drawn by its row in
the whole batch, so that two ranks with half of a batch each draw together what one rank draws for all of it.
"""

import zlib
from typing import Any

from ..namespace import Namespace

WORDS = 4
WORD = 0xFFFFFFFF


_INTEGERS = (
    Namespace()
)  # for Threefry over Python's own integers, which need no conversion
_INTEGERS.asarray = lambda value, dtype: value


def derive(seed: int, node: str, attribute: Any, step: int) -> list[int]:
    """The two words of a node in one step of a run: Threefry of the seed, over the node and the step."""
    counter = zlib.crc32(repr((node, attribute)).encode())
    return list(
        _INTEGERS.threefry((seed & WORD, seed >> 32 & WORD), counter, step & WORD)
    )


def complete(words: list[int], first_row: int = 0, rows: int = 1) -> list[int]:
    """A whole key: the words, then the number of the first example and the count of examples."""
    return [*words, first_row, max(1, rows)]
