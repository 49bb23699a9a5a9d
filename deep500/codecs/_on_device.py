"""What the codecs of tensors on devices have in common: PyTorch, reading payloads, random numbers."""

from typing import Any

from ..contracts.device_codec import Tensor
from ..frameworks import framework
from ..namespace import Namespace
from ._random import GROUP, LANES

# for Threefry over int64 with a key of Python's numbers, of which no tensor needs to be made
_WORDS = Namespace()
_WORDS.asarray = lambda value, dtype: value
SPLITTER = 2.0**27 + 1
TINY = 2.0**-1000  # of a root of 0


def torch() -> Any:
    return framework("pytorch").module


def viewed(payload: Tensor, dtype: Any) -> Tensor:
    """A part of a payload as numbers of another dtype; a copy, as it may begin between two of them."""
    return payload.clone().view(dtype)


def uniform(words: tuple[int, int], like: Tensor) -> Tensor:
    """As many numbers inside of (0, 1) as another tensor has, those that `_random.uniform` draws for this key."""
    count = like.numel()
    groups = -(-count // GROUP)
    counters = torch().arange(groups * LANES, device=like.device)
    words_of_blocks = _WORDS.threefry(words, counters, counters >> 32)
    parts = []
    for word in words_of_blocks:
        lanes = word.reshape(groups, LANES)
        parts += [lanes & 0xFFFF, lanes >> 16]
    drawn = torch().stack(parts, 1).reshape(-1)[:count].to(like.dtype)
    return (drawn + 0.5) * 2.0**-16


def square_root(x: Tensor) -> Tensor:
    """Correctly rounded roots of float64; those of PyTorch's may be the next number, where MKL computes them."""
    root = x.sqrt()
    # what the square of the root lacks, exactly: halves of it have exact products (Dekker)
    upper = root * SPLITTER
    upper = upper - (upper - root)
    lower = root - upper
    square = root * root
    rounding = (upper * upper - square) + 2 * upper * lower + lower * lower
    missing = (x - square) - rounding
    return root + missing / (2 * root).clamp(min=TINY)
