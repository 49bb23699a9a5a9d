"""Between NumPy and OrtValue, for dtypes that ONNX Runtime does not hand to NumPy by itself too."""

import ctypes
import math

import numpy as np
from onnxruntime import OrtValue  # type: ignore[import-untyped]

from ...contracts.dtypes import (
    NAMES,
    NUMBERS,
    SMALL,
    bits,
)


def from_numpy(array: np.ndarray) -> OrtValue:
    """A value over the array's memory, or over that of a packed copy."""
    name = array.dtype.name
    if name not in SMALL:
        return OrtValue.ortvalue_from_numpy(array)
    raw = array.view(f"u{array.dtype.itemsize}")
    if (
        bits(name) == 4
    ):  # two to a byte; ONNX Runtime reads the first half of a buffer of that many bytes
        low, high = _nibbles(raw)
        raw = (
            np.resize(low | high << 4, raw.size).reshape(raw.shape)
            if raw.size > 1
            else raw & 15
        )
    return OrtValue.ortvalue_from_numpy_with_onnx_type(raw, NUMBERS[name])


def to_numpy(value: OrtValue) -> np.ndarray:
    """A copy of the values."""
    name = NAMES.get(value.element_type(), "")
    if name not in SMALL:
        return value.numpy().copy()
    shape = tuple(value.shape())
    size, dtype = math.prod(shape), np.dtype(name)
    if bits(name) == 4:
        packed = np.frombuffer(
            ctypes.string_at(value.data_ptr(), -(-size // 2)), "uint8"
        )
        codes = np.stack([packed & 15, packed >> 4], -1).reshape(-1)[:size]
        signed = (
            (codes ^ 8) - 8 if name == "int4" else codes
        )  # ml_dtypes holds an int4 as an int8
        return signed.astype("int8").astype(dtype).reshape(shape)
    raw = np.frombuffer(
        ctypes.string_at(value.data_ptr(), size * dtype.itemsize), dtype
    )
    return raw.copy().reshape(shape)


def _nibbles(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The elements that become the lower and the upper halves of bytes."""
    flat = np.append(raw.reshape(-1) & 15, np.zeros(raw.size % 2, "uint8")).astype(
        "uint8"
    )
    return flat[::2], flat[1::2]
