"""Random keys, which determine the numbers that a random operator draws.

A key is four integers. The first two come from the run's seed, the node and the step. The other two are the number
of the first example in the whole batch and the count of examples in this part of it: an element depends on its row in
the whole batch, so that two ranks with half a batch each draw the same numbers as one rank with the whole batch.
"""

import zlib
from typing import Any

from ..namespace import Namespace

WORDS = 4
WORD = 0xFFFFFFFF


# runs Threefry on Python's own integers, which need no conversion
_INTEGERS = Namespace()
_INTEGERS.asarray = lambda value, dtype: value


def derive(seed: int, node: str, attribute: Any, step: int) -> list[int]:
    """The two words of a node in one step of a run: Threefry of the seed, over the node and the step."""
    counter = zlib.crc32(repr((node, attribute)).encode())
    key = (seed & WORD, seed >> 32 & WORD)
    words = _INTEGERS.threefry(key, counter, step & WORD)
    return list(words)


def complete(words: list[int], first_row: int = 0, rows: int = 1) -> list[int]:
    """A whole key: the words, then the number of the first example and the count of examples."""
    return [*words, first_row, max(1, rows)]
