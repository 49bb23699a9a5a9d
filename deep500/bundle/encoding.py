"""The encoding of a bundle: names, canonical JSON, hashes, and the lines of the chain."""

import hashlib
import json
import math
import re

from ..errors import Deep500Error
from .containers import Damage, ascii_line, show

FORMAT = 1
CHAIN = "samples.jsonl"
MANIFEST = "manifest.json"
# Bytes of one document and of one chain line: they are parsed in memory.
PARSE_LIMIT = 2**24
# Lists and objects in one document or line: each takes many times its two bytes.
PART_LIMIT = 10**6
CHAIN_LIMIT = 2**29  # bytes of all lines
BLOCK_LIMIT = 100_000
# What all lines may hold, by the byte that counts it: an hour of measuring as fast as it goes.
VALUE_LIMITS = {
    b",": 40_000_000,
    b":": 2_000_000,
    b"[": 10_000_000,
    b"{": 2_000_000,
}
ZERO = "0" * 64
HASH = re.compile(r"[0-9a-f]{64}")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
# what others say about a finished bundle: signatures and time stamps of its manifest, outside of what is hashed
ATTESTATION = re.compile(r"manifest\.json\.([A-Za-z0-9_-]{1,64}\.)?(sig|ots|tsq|tsr)")
ATTESTATION_LIMIT = 2**16  # bytes
TEMPORARY = re.compile(r"\..+\.partial")
_LINE = re.compile(rb'\{"chain":"([0-9a-f]{64})","block":(\{.*\})\}\n', re.DOTALL)

Documents = dict[str, object]
Blocks = list[dict[str, object]]


def canonical(document: object) -> bytes:
    """The one way a document is written: sorted keys, indented by one, ASCII, no NaN, a final newline."""
    return _dumps(document, 1, (",", ": ")) + b"\n"


def _dumps(document: object, indent: int | None, separators: tuple[str, str]) -> bytes:
    try:
        text = json.dumps(
            document,
            sort_keys=True,
            indent=indent,
            separators=separators,
            allow_nan=False,
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise Deep500Error(
            f"this cannot be written as JSON ({ascii_line(error)})"
        ) from None
    return text.encode()


def parse(data: bytes) -> object:
    """Strict JSON: UTF-8 without a mark, no key twice, no number that is not finite; else Damage."""
    parts = data.count(b"[") + data.count(b"{")
    if parts > PART_LIMIT:
        raise Damage(f"more than the {PART_LIMIT} lists and objects that are read")
    try:
        return _STRICT.decode(data.decode())
    except (ValueError, RecursionError) as error:
        raise Damage(f"not valid JSON ({ascii_line(error)})") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is there twice")
    return members


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a finite number")
    return number


_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite
)


class Tally:
    """How much the lines of a chain hold so far."""

    def __init__(self) -> None:
        self.blocks = self.size = 0
        self.values = dict.fromkeys(VALUE_LIMITS, 0)

    def add(self, line: bytes) -> str | None:
        """Count one more line; returns a message if a limit is exceeded."""
        self.blocks += 1
        self.size += len(line)
        for mark in self.values:
            self.values[mark] += line.count(mark)
        if self.size > CHAIN_LIMIT:
            return f"{CHAIN} has more than {CHAIN_LIMIT} bytes"
        if self.blocks > BLOCK_LIMIT + 1:  # the first line is the header
            return f"{CHAIN} has more than {BLOCK_LIMIT} blocks"
        for mark, limit in VALUE_LIMITS.items():
            if self.values[mark] > limit:
                return f"{CHAIN} has more values than are kept in memory"
        return None


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def temporary(name: str) -> str:
    """The name under which a file is written before it gets its own."""
    return f".{name}.partial"


def is_document(name: str) -> bool:
    return name.endswith(".json")


def check_name(name: str, document: bool) -> None:
    """A Deep500Error unless a bundle may hold a document (or another file) of this name."""
    is_free = NAME.fullmatch(name) and name not in (CHAIN, MANIFEST)
    if is_free and is_document(name) == document:
        return
    kind = "file (it does not end in .json)"
    if document:
        kind = "document (it ends in .json)"
    raise Deep500Error(
        f"{show(name)} cannot name a {kind} of a bundle: letters, digits and ._- only"
    )


def link(previous: str, block: dict[str, object]) -> tuple[str, bytes]:
    """The hash and the line of a block that follows the line with the hash `previous`."""
    data = _dumps(block, None, (",", ":"))
    chain = sha256(previous.encode() + data)
    return chain, b'{"chain":"%s","block":%s}\n' % (chain.encode(), data)


def unlink(previous: str, line: bytes) -> tuple[str, dict[str, object]]:
    """The hash and the block of a whole line; Damage unless it follows the line with the hash `previous`."""
    match = _LINE.fullmatch(line)
    if not match:
        raise Damage("not a line of a chain")
    chain = match[1].decode()
    data = match[2]
    if sha256(previous.encode() + data) != chain:
        raise Damage("its hash does not follow from the line before")
    block = parse(data)
    if not isinstance(block, dict):
        raise Damage("its block is not an object")
    return chain, block
