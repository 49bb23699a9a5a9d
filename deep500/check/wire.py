"""Values between the judge and the processes it questions: arrays, tuples and shapes as JSON, checked on the way in.

The bytes of large arrays go through a file that both processes have open, as base64 in JSON costs too much for them.
What only one check sends, it packs and unpacks itself.
"""

import base64
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from typing import Any

import numpy as np

from ..contracts.dtypes import ALL
from ..contracts.operator import TensorSpec

Array = np.ndarray
# gives the kind and the content of a value that only this check sends, None for any other
Pack = Callable[[Any], tuple[str, Any] | None]
# by kind, what makes the value of its content, or raises `Malformed`
Unpack = Mapping[str, Callable[[Any], Any]]
PLAIN = (type(None), bool, int, float, str)
DTYPES = ALL | {"complex64", "complex128"}  # what is wrong may be complex too
LARGE = 4096  # bytes of an array that goes through a file
LONGEST = 2**30  # bytes of all arrays of a message


class Malformed(ValueError):
    """A message that is no encoded value."""


class ArrayFile:
    """A file without a name for the bytes of large arrays; every message writes it from its beginning."""

    def __init__(self, descriptor: int, longest: int = LONGEST):
        self.descriptor = descriptor
        self.longest = longest
        self.end = 0

    @classmethod
    def new(cls, longest: int = LONGEST) -> "ArrayFile":
        if hasattr(os, "memfd_create"):
            return cls(os.memfd_create("deep500"), longest)
        with tempfile.TemporaryFile() as file:
            return cls(os.dup(file.fileno()), longest)

    def close(self) -> None:
        os.close(self.descriptor)

    def write(self, array: Array) -> int:
        """Append the bytes of the array; returns where they begin."""
        start = self.end
        flat = np.ascontiguousarray(array).reshape(-1)
        remaining = flat.view(np.uint8).data  # bfloat16 has no buffer
        while remaining:
            written = os.pwrite(self.descriptor, remaining, self.end)
            remaining = remaining[written:]
            self.end += written
        return start

    def read(self, start: int, array: Array) -> None:
        """Fill the array of bytes with those from this place on; raises `Malformed` if there are too few."""
        target = array.data
        while target:
            count = os.preadv(self.descriptor, [target], start)
            if not count:
                raise Malformed("an array whose bytes are missing")
            target = target[count:]
            start += count


class ArrayFiles(ExitStack):
    """The files for the large arrays of questions and of answers; leaving the context closes them."""

    def __init__(self, longest: int = LONGEST) -> None:
        super().__init__()
        self.questions = self.enter_context(closing(ArrayFile.new(longest)))
        self.answers = self.enter_context(closing(ArrayFile.new(longest)))

    @property
    def descriptors(self) -> tuple[int, int]:
        return self.questions.descriptor, self.answers.descriptor


def encoded(value: Any, pack: Pack | None = None, file: ArrayFile | None = None) -> Any:
    """A value as JSON, with the bytes of large arrays in the file, if there is one; else a TypeError says why not."""
    if isinstance(value, np.generic):
        return {"scalar": _packed(np.asarray(value))}
    if isinstance(value, PLAIN):
        return value
    if pack is not None and (packed := pack(value)):
        kind, content = packed
        return {kind: encoded(content, pack, file)}
    if isinstance(value, TensorSpec):
        return {"tensor": [list(value.shape), value.dtype]}
    if isinstance(value, np.ndarray):
        return _encoded_array(value, file)
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encoded(item, pack, file) for item in value]}
    if isinstance(value, dict):
        return _encoded_dict(value, pack, file)
    name = type(value).__name__
    raise TypeError(f"a {name} cannot be handed to another process")


def _encoded_dict(
    value: dict[Any, Any], pack: Pack | None, file: ArrayFile | None
) -> dict[str, Any]:
    if all(isinstance(key, str) for key in value):
        items = {key: encoded(item, pack, file) for key, item in value.items()}
        return {"dict": items}
    pairs = [encoded(pair, pack, file) for pair in value.items()]
    return {"items": pairs}


def decoded(
    message: Any, unpack: Unpack | None = None, file: ArrayFile | None = None
) -> Any:
    """The value again; raises `Malformed` for anything that `encoded` does not write."""
    if isinstance(message, PLAIN):
        return message
    if not isinstance(message, dict) or len(message) != 1:
        raise Malformed("this is no value")
    [(kind, content)] = message.items()
    match kind, content:
        case "tensor", [list() as shape, str() as dtype]:
            return TensorSpec(_shape(shape), _dtype(dtype))
        case "scalar", [str(), [], str()]:
            return _unpacked(content)[()]
        case "texts", [list() as shape, list() as texts]:
            return _texts(_shape(shape), texts)
        case "array", [str(), list(), str()]:
            return _unpacked(content)
        case "stored", [str() as name, list() as shape, int() as start] if file:
            return _stored(file, name, _shape(shape), start)
        case "tuple", list():
            return tuple(decoded(item, unpack, file) for item in content)
        case "list", list():
            return [decoded(item, unpack, file) for item in content]
        case "dict", dict():
            values = {}
            for key, item in content.items():
                values[key] = decoded(item, unpack, file)
            return values
        case "items", list():
            return _items([decoded(pair, unpack, file) for pair in content])
    if unpack is not None and kind in unpack:
        return unpack[kind](decoded(content, unpack, file))
    raise Malformed(f"this is no {kind!r:.40}")


def _items(pairs: list[Any]) -> dict[Any, Any]:
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise Malformed("items that are no pairs")
        if not isinstance(pair[0], PLAIN):
            raise Malformed("a key that is no number or text")
    return dict(pairs)


def _encoded_array(array: Array, file: ArrayFile | None) -> dict[str, Any]:
    if array.dtype.kind not in "OU":
        if file is None or array.nbytes < LARGE:
            return {"array": _packed(array)}
        start = file.write(array)
        return {"stored": [array.dtype.name, list(array.shape), start]}
    texts = [str(text) for text in array.reshape(-1)]
    return {"texts": [list(array.shape), texts]}


def _packed(array: Array) -> list[Any]:
    """The dtype, the shape and the bytes of an array."""
    data = np.ascontiguousarray(array).tobytes()
    text = base64.b64encode(data).decode()
    return [array.dtype.name, list(array.shape), text]


def _unpacked(content: list[Any]) -> Array:
    name, sizes, text = content
    dtype = np.dtype(_dtype(name))
    shape = _shape(sizes)
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Malformed("an array whose bytes cannot be read") from None
    size = math.prod(shape) * dtype.itemsize
    if len(data) != size:
        kind = f"{name}{sizes}"
        raise Malformed(f"an array of {len(data)} bytes that should be {kind}")
    array = np.frombuffer(data, dtype).reshape(shape)
    return array.copy()


def _stored(file: ArrayFile, name: str, shape: tuple[int, ...], start: int) -> Array:
    """An array whose bytes lie in the file."""
    dtype = np.dtype(_dtype(name))
    size = math.prod(shape) * dtype.itemsize
    if not 0 <= start <= start + size <= file.longest:
        raise Malformed("an array that is too large")
    array = np.empty(size, np.uint8)
    file.read(start, array)
    return array.view(dtype).reshape(shape)


def _texts(shape: tuple[int, ...], texts: list[Any]) -> Array:
    are_texts = all(isinstance(text, str) for text in texts)
    if len(texts) != math.prod(shape) or not are_texts:
        raise Malformed("an array of texts whose shape is another")
    return np.array(texts, object).reshape(shape)


def _shape(sizes: list[Any]) -> tuple[int, ...]:
    for size in sizes:
        if type(size) is not int or size < 0:
            raise Malformed("a shape of other things than sizes")
    return tuple(sizes)


def _dtype(name: str) -> str:
    if name not in DTYPES:
        raise Malformed(f"an array of the unknown dtype {name!r:.40}")
    return name
