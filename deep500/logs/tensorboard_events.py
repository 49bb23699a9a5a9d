"""TensorBoard's own files, `events.out.tfevents…`: records of protocol buffers, of which scalars are read."""

import math
import struct
from collections.abc import Iterator, Mapping

from ..contracts.dossier import Dossier, ReportedNumber
from ..contracts.log_format import LogFormat
from ..errors import Deep500Error, visible
from .scalar_curve import end_of_curve

VERSION = b"brain.Event:"  # what the first record says
LONGEST = 16 << 20  # bytes of a record
MOST = 1_000_000  # records, and values
# what a curve must be called to be a quality: others are learning rates, times, norms …
QUALITIES = ("acc", "loss", "error", "err", "f1", "auc", "bleu", "map", "perplexity")
# numbers of fields in TensorFlow's event.proto, summary.proto and tensor.proto
STEP, SUMMARY, VALUE, TAG, SIMPLE, TENSOR = 2, 5, 1, 1, 2, 8
CONTENT, FLOATS, DOUBLES = 4, 5, 6
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

Fields = Iterator[tuple[int, int, bytes | int]]


class TensorboardEvents(LogFormat):
    """The curves of one run: the last value of each is what a reader takes from it."""

    form = "bytes"

    def recognises(self, content: object) -> bool:
        return isinstance(content, bytes) and VERSION in content[:64]

    def dossier(self, content: object, file: str) -> Dossier:
        assert isinstance(content, bytes)
        last: dict[str, tuple[int, float]] = {}
        for event in _records(content, file):
            step = 0
            for number, _, value in _fields(event, file):
                if number == STEP and isinstance(value, int):
                    step = value
                elif number == SUMMARY and isinstance(value, bytes):
                    for tag, scalar in _scalars(value, file):
                        last[tag] = step, scalar
        return Dossier(number=_numbers(last, file))


def _numbers(last: Mapping[str, tuple[int, float]], file: str) -> list[ReportedNumber]:
    numbers = []
    for tag, (step, value) in last.items():
        is_quality = any(word in tag.lower() for word in QUALITIES)
        if is_quality and math.isfinite(value):
            numbers.append(end_of_curve(tag, value, file, f"step {step}"))
    return numbers


def _records(content: bytes, file: str) -> Iterator[bytes]:
    """The records: length, its checksum, the bytes, their checksum. The last one may be cut off."""
    place = count = 0
    while place + 12 <= len(content):
        [length] = struct.unpack_from("<Q", content, place)
        begin = place + 12
        count += 1
        if length > LONGEST or count > MOST:
            raise Deep500Error(
                f"{visible(file)}: a record of {length} bytes at byte {place}, or more than {MOST} records"
            )
        if begin + length > len(content):
            return
        yield content[begin : begin + length]
        place = begin + length + 4


def _scalars(summary: bytes, file: str) -> Iterator[tuple[str, float]]:
    for number, _, value in _fields(summary, file):
        if number != VALUE or not isinstance(value, bytes):
            continue
        tag, scalar = "", None
        for field, wire, part in _fields(value, file):
            if field == TAG and isinstance(part, bytes):
                tag = part.decode("utf-8", "replace")[:200]
            elif field == SIMPLE and wire == FIXED32 and isinstance(part, bytes):
                [scalar] = struct.unpack("<f", part)
            elif field == TENSOR and isinstance(part, bytes):
                scalar = _of_tensor(part, file)
        if tag and scalar is not None:
            yield tag, scalar


def _of_tensor(tensor: bytes, file: str) -> float | None:
    """The value of a tensor with one element, float32 or float64."""
    forms = {4: "<f", 8: "<d"}
    for number, _, value in _fields(tensor, file):
        is_value = number in (CONTENT, FLOATS, DOUBLES)
        if is_value and isinstance(value, bytes) and len(value) in forms:
            [scalar] = struct.unpack(forms[len(value)], value)
            return float(scalar)
    return None


def _fields(message: bytes, file: str) -> Fields:
    """The fields of a message: number, wire type, and a whole number or bytes."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place, file)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, place = _varint(message, place, file)
            yield number, wire, value
            continue
        length = {FIXED64: 8, FIXED32: 4}.get(wire)
        if wire == BYTES:
            length, place = _varint(message, place, file)
        if length is None or place + length > len(message):
            raise _malformed(file)
        yield number, wire, message[place : place + length]
        place += length


def _varint(message: bytes, place: int, file: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            raise _malformed(file)
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, place
    raise _malformed(file)


def _malformed(file: str) -> Deep500Error:
    return Deep500Error(f"{visible(file)}: a record is no event of TensorBoard")
