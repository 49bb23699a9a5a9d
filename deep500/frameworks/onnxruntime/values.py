"""Converts between NumPy arrays and OrtValues, also of dtypes that ONNX Runtime does not convert itself."""

import ctypes
import math

import numpy as np
from onnxruntime import OrtValue  # type: ignore[import-untyped]

from ...contracts.device import HOST
from ...contracts.dtypes import (
    NAMES,
    NUMBERS,
    SMALL,
    bits,
)
from .providers import CPU, Provider


def from_numpy(array: np.ndarray, provider: Provider = CPU) -> OrtValue:
    """Return a value over the array's memory, or over that of a packed copy; a copy in the provider's own memory."""
    value = _on_host(array)
    if provider.in_host_memory:
        return value
    return moved(value, *provider.place)


def moved(value: OrtValue, memory: str, index: int) -> OrtValue:
    """Return a copy in this memory, without the host in between."""
    shape, element_type = value.shape(), value.element_type()
    copy = OrtValue.ortvalue_from_shape_and_type(shape, element_type, memory, index)
    copy.update_inplace(value)
    return copy


def _on_host(array: np.ndarray) -> OrtValue:
    name = array.dtype.name
    if name not in SMALL:
        return OrtValue.ortvalue_from_numpy(array)
    raw = array.view(f"u{array.dtype.itemsize}")
    if bits(name) == 4:
        raw = _packed(raw)
    return OrtValue.ortvalue_from_numpy_with_onnx_type(raw, NUMBERS[name])


def to_numpy(value: OrtValue) -> np.ndarray:
    """Return a copy of the values as an array."""
    name = NAMES.get(value.element_type(), "")
    if name not in SMALL:
        return value.numpy().copy()
    if value.device_name() != HOST:
        value = moved(value, HOST, 0)
    shape = tuple(value.shape())
    size = math.prod(shape)
    dtype = np.dtype(name)
    if bits(name) != 4:
        memory = ctypes.string_at(value.data_ptr(), size * dtype.itemsize)
        return np.frombuffer(memory, dtype).copy().reshape(shape)
    memory = ctypes.string_at(value.data_ptr(), -(-size // 2))
    packed = np.frombuffer(memory, "uint8")
    pairs = np.stack([packed & 15, packed >> 4], -1)
    codes = pairs.reshape(-1)[:size]
    if name == "int4":
        codes = (codes ^ 8) - 8  # ml_dtypes holds an int4 as an int8
    return codes.astype("int8").astype(dtype).reshape(shape)


def _packed(raw: np.ndarray) -> np.ndarray:
    """The elements two to a byte, in the first half of an array of as many bytes, which is what ONNX Runtime reads."""
    if raw.size <= 1:
        return raw & 15
    nibbles = raw.reshape(-1) & 15
    padding = np.zeros(raw.size % 2, "uint8")
    nibbles = np.append(nibbles, padding).astype("uint8")
    low = nibbles[::2]
    high = nibbles[1::2]
    packed = low | high << 4
    return np.resize(packed, raw.size).reshape(raw.shape)
