"""Sizes of arrays as users write them: 8, 64KiB, 1MB, deepbench."""

from collections.abc import Sequence

from ...contracts.byte_count import byte_count
from ...errors import Deep500Error

# elements of float32, from DeepBench's all_reduce_problems.h
DEEPBENCH = (100000, 3097600, 4194304, 6553600, 16777217, 38360000, 64500000)
LARGEST = 2**30


def sizes_in_bytes(texts: Sequence[str]) -> list[int]:
    """The sizes in ascending order, each once."""
    sizes: set[int] = set()
    for text in texts:
        if text.lower() == "deepbench":
            sizes.update(4 * elements for elements in DEEPBENCH)
        else:
            sizes.add(_size(text))
    return sorted(sizes)


def _size(text: str) -> int:
    nbytes = byte_count(text)
    if nbytes is None:
        raise Deep500Error(
            f"--size {text!r} is no size: give bytes, as in 8, 64KiB or 1MiB, or deepbench"
        )
    if not 1 <= nbytes <= LARGEST:
        raise Deep500Error(f"--size {text}: give 1 byte to 1024 MiB")
    return nbytes
