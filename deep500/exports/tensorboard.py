"""TensorBoard: a folder of runs (one per seed or process), each a file of events with one scalar per sample."""

import math
import struct
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from ..contracts.export_format import AnyRecord, ExportFormat
from ..contracts.sample_row import SampleRow
from ..errors import Deep500Error
from ..logs.tensorboard_events import (
    BYTES,
    FIXED32,
    FIXED64,
    SIMPLE,
    STEP,
    SUMMARY,
    TAG,
    VALUE,
    VARINT,
)
from ..reports.text import clean
from .rows import sample_rows

WALL_TIME, FILE_VERSION = 1, 3  # fields of an event
VERSION = b"brain.Event:2"
POLYNOMIAL = 0x82F63B78  # of CRC-32C, reflected
LARGEST_FLOAT32 = 3.4e38
MASK = 0xA282EAD8  # that TensorFlow adds to a checksum
# what numbers the samples of a run, the first that a row has
STEPS = ("step", "epoch")
RUNS = ("seed", "process", "launch")


class Tensorboard(ExportFormat):
    """Curves over steps and epochs; times over the number of the sample."""

    suffix = ""

    def write(
        self, record: AnyRecord, path: Path, settings: Mapping[str, Any]
    ) -> list[Path]:
        if path.exists() and any(path.iterdir()):
            raise Deep500Error(f"{path} is not empty: choose another folder")
        files: dict[str, BinaryIO] = {}
        counts: dict[tuple[str, str], int] = {}
        written = []
        try:
            for row in sample_rows(record):
                run, tag = _run(row), _tag(row)
                count = counts[run, tag] = counts.get((run, tag), 0) + 1
                if run not in files:
                    file = path / run / "events.out.tfevents.0.deep500"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    files[run] = file.open("wb")
                    written.append(file)
                    files[run].write(event_record(_version()))
                event = scalar_event(tag, row.value, _step(row, count))
                files[run].write(event_record(event))
        finally:
            for opened in files.values():
                opened.close()
        return written


def _run(row: SampleRow) -> str:
    for level in RUNS:
        if level in row.levels:
            return f"{level}-{int(row.levels[level])}"
    return "run"


def _tag(row: SampleRow) -> str:
    """The name of the curve; text from a bundle without what controls a terminal."""
    return clean(f"{row.quantity}/{row.name}")[:200]


def _step(row: SampleRow, count: int) -> int:
    for level in STEPS:
        if level in row.levels:
            return int(row.levels[level])
    return count


def scalar_event(tag: str, value: float, step: int) -> bytes:
    """The event of one scalar, as protocol buffers encode it."""
    scalar = _bytes(TAG, tag.encode()) + _fixed32(SIMPLE, value)
    summary = _bytes(VALUE, scalar)
    return _fixed64(WALL_TIME, 0.0) + _varint(STEP, step) + _bytes(SUMMARY, summary)


def event_record(event: bytes) -> bytes:
    """The record of a file: length, its checksum, the event, its checksum."""
    length = struct.pack("<Q", len(event))
    ends = struct.pack("<I", masked_crc(length)), struct.pack("<I", masked_crc(event))
    return length + ends[0] + event + ends[1]


def masked_crc(data: bytes) -> int:
    crc = crc32c(data)
    rotated = crc >> 15 | crc << 17
    return (rotated + MASK) & 0xFFFFFFFF


def crc32c(data: bytes) -> int:
    """The CRC-32C (Castagnoli) of the bytes."""
    table = _crc_table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@cache
def _crc_table() -> list[int]:
    return [_crc_of(byte) for byte in range(256)]


def _crc_of(byte: int) -> int:
    crc = byte
    for _ in range(8):
        crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc


def _version() -> bytes:
    return _fixed64(WALL_TIME, 0.0) + _bytes(FILE_VERSION, VERSION)


def _bytes(field: int, data: bytes) -> bytes:
    return _key(field, BYTES) + _number(len(data)) + data


def _varint(field: int, value: int) -> bytes:
    return _key(field, VARINT) + _number(value)


def _fixed32(field: int, value: float) -> bytes:
    if abs(value) > LARGEST_FLOAT32:
        value = math.copysign(math.inf, value)
    return _key(field, FIXED32) + struct.pack("<f", value)


def _fixed64(field: int, value: float) -> bytes:
    return _key(field, FIXED64) + struct.pack("<d", value)


def _key(field: int, wire: int) -> bytes:
    return _number(field << 3 | wire)


def _number(value: int) -> bytes:
    return bytes(_digits(value))


def _digits(value: int) -> Iterator[int]:
    """The number in groups of seven bits, the lowest first."""
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value
