"""Small whole numbers packed into bytes, the first in the lowest bits."""

import numpy as np


def pack(codes: np.ndarray, bits: int) -> np.ndarray:
    """Numbers of 1, 2, 4 or 8 bits as bytes."""
    each = 8 // bits
    if each == 1:
        return codes.astype(np.uint8)
    padded = np.zeros(-(-codes.size // each) * each, np.uint8)
    padded[: codes.size] = codes
    columns = padded.reshape(-1, each)
    packed = np.zeros(len(columns), np.uint8)
    for place in range(each):
        packed |= columns[:, place] << np.uint8(place * bits)
    return packed


def unpack(packed: np.ndarray, bits: int, count: int) -> np.ndarray:
    """The first `count` numbers of these bytes."""
    each = 8 // bits
    columns = np.empty((packed.size, each), np.uint8)
    mask = np.uint8(2**bits - 1)
    for place in range(each):
        columns[:, place] = (packed >> np.uint8(place * bits)) & mask
    return columns.reshape(-1)[:count]


def packed_bytes(count: int, bits: int) -> int:
    return -(-count * bits // 8)
