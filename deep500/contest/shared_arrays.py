"""Arrays in memory that the judge shares with a sandboxed process: inputs to be read, outputs to be written."""

import fcntl
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ALIGNMENT = 64
FIXED_SIZE = 0x0002 | 0x0004  # F_SEAL_SHRINK, F_SEAL_GROW
ADD_SEALS = 1033


@dataclass(frozen=True)
class ArrayForm:
    """The shape and dtype of an array."""

    shape: Sequence[int]
    dtype: str

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


def forms_of(arrays: Sequence[np.ndarray]) -> list[ArrayForm]:
    return [ArrayForm(array.shape, array.dtype.str) for array in arrays]


def size_of(forms: Sequence[ArrayForm]) -> int:
    """The bytes of arrays of these forms, one behind the other."""
    return sum(-(-form.nbytes // ALIGNMENT) * ALIGNMENT for form in forms) or ALIGNMENT


def new_memory(forms: Sequence[ArrayForm]) -> int:
    """A descriptor of memory of that size, which nobody can change."""
    flags = getattr(os, "MFD_ALLOW_SEALING", 2)
    descriptor = os.memfd_create("arrays", flags)
    os.ftruncate(descriptor, size_of(forms))
    fcntl.fcntl(descriptor, ADD_SEALS, FIXED_SIZE)
    return descriptor


def mapped(
    descriptor: int, forms: Sequence[ArrayForm], writable: bool
) -> list[np.ndarray]:
    """The arrays in that memory."""
    access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
    memory = mmap.mmap(descriptor, size_of(forms), access=access)
    arrays: list[np.ndarray] = []
    start = 0
    for form in forms:
        count = int(np.prod(form.shape, dtype=np.int64))
        dtype: Any = np.dtype(form.dtype)
        flat = np.frombuffer(memory, dtype, count, start)
        arrays.append(flat.reshape(form.shape))
        start += -(-form.nbytes // ALIGNMENT) * ALIGNMENT
    return arrays
