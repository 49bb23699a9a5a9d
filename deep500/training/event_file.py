"""TensorBoard's event files: records framed by checksums, each a small protocol buffer.

A record is its length (8 bytes), the masked CRC-32C of that, the data, and their masked CRC-32C. The data is an Event
of tensorflow/core/util/event.proto.
"""

import struct
from functools import cache

POLYNOMIAL = 0x82F63B78  # of CRC-32C, with its bits reversed
MASK = 0xA282EAD8
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types


def framed(data: bytes) -> bytes:
    """One record."""
    length = struct.pack("<Q", len(data))
    return b"".join([length, _masked_crc(length), data, _masked_crc(data)])


def file_version(seconds: float) -> bytes:
    """The Event that a file begins with."""
    return _wall_time(seconds) + _bytes(3, b"brain.Event:2")


def scalar(seconds: float, step: int, tag: str, value: float) -> bytes:
    """The Event that gives a number of a step."""
    number = _key(2, FIXED32) + struct.pack("<f", value)
    summary = _bytes(1, _bytes(1, tag.encode()) + number)
    return _wall_time(seconds) + _key(2, VARINT) + _varint(step) + _bytes(5, summary)


def crc32c(data: bytes) -> int:
    table = _table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked_crc(data: bytes) -> bytes:
    """Turned by 15 bits and moved, so that a checksum of checksums is none."""
    crc = crc32c(data)
    turned = (crc >> 15) | (crc << 17)
    return struct.pack("<I", (turned + MASK) & 0xFFFFFFFF)


@cache
def _table() -> tuple[int, ...]:
    return tuple(map(_table_entry, range(256)))


def _table_entry(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


def _wall_time(seconds: float) -> bytes:
    return _key(1, FIXED64) + struct.pack("<d", seconds)


def _bytes(field: int, data: bytes) -> bytes:
    return _key(field, BYTES) + _varint(len(data)) + data


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)
