"""Encodes TensorBoard's event files: records framed by checksums, each a small protocol buffer.

A record is its length (8 bytes), the masked CRC-32C of the length, the data, and the masked CRC-32C of the data. The
data is an Event of tensorflow/core/util/event.proto.
"""

import struct
from functools import cache

POLYNOMIAL = 0x82F63B78  # of CRC-32C, with its bits reversed
MASK = 0xA282EAD8
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types


def framed(data: bytes) -> bytes:
    """The record of an Event."""
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def file_version(seconds: float) -> bytes:
    """The Event at the beginning of a file."""
    return _wall_time(seconds) + _bytes(3, b"brain.Event:2")


def scalar(seconds: float, step: int, tag: str, value: float) -> bytes:
    """The Event with a number for a step."""
    tag_field = _bytes(1, tag.encode())
    value_field = _key(2, FIXED32) + struct.pack("<f", value)
    summary = _bytes(1, tag_field + value_field)
    step_field = _key(2, VARINT) + _varint(step)
    return _wall_time(seconds) + step_field + _bytes(5, summary)


def crc32c(data: bytes) -> int:
    table = _table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked_crc(data: bytes) -> bytes:
    """The CRC-32C, rotated by 15 bits plus a constant, so that checksums of data with checksums stay useful."""
    crc = crc32c(data)
    rotated = (crc >> 15) | (crc << 17)
    masked = (rotated + MASK) & 0xFFFFFFFF
    return struct.pack("<I", masked)


@cache
def _table() -> tuple[int, ...]:
    return tuple(map(_table_entry, range(256)))


def _table_entry(byte: int) -> int:
    for _ in range(8):
        lowest_bit = byte & 1
        byte >>= 1
        if lowest_bit:
            byte ^= POLYNOMIAL
    return byte


def _wall_time(seconds: float) -> bytes:
    return _key(1, FIXED64) + struct.pack("<d", seconds)


def _bytes(field: int, data: bytes) -> bytes:
    return _key(field, BYTES) + _varint(len(data)) + data


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(number: int) -> bytes:
    """A varint: seven bits per byte, the lowest first; the highest bit of a byte means that more follow."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)
