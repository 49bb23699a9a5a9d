"""Functions outside of JAX, called by what XLA compiled: in C++, or in Python on NumPy arrays.

A function in Python goes the way of one in C++. `jax.pure_callback` makes JAX arrays of its arguments first, for which
it needs a thread of the pool that is waiting for the callback: with one thread it waits for ever.
"""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ...custom.building import build
from ...custom.cpp import TensorT
from ...errors import one_line

TARGET = "deep500_custom_op"
FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_void_p,
    ctypes.POINTER(TensorT),
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int,
)
KEPT: list[
    Any
] = []  # functions, one per compilation: compiled code knows them by their address
TEXTS: list[Any] = []  # the last errors: XLA copies each when the function has returned
MOST_TEXTS = 100  # as many calls may fail at once


def call_foreign(
    address: int,
    inputs: int,
    outputs: int,
    kinds: Sequence[Any],
    xs: Sequence[jax.Array],
) -> tuple:
    """The results, of these shapes and dtypes, of the function at an address."""
    _register()
    made = [jax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in kinds]
    call = jax.ffi.ffi_call(TARGET, made, vmap_method="sequential")
    numbers = {"function": address, "inputs": inputs, "outputs": outputs}
    return tuple(
        call(*xs, **{name: np.int64(value) for name, value in numbers.items()})
    )


def call_python(
    function: Callable[..., Sequence[np.ndarray]],
    kinds: Sequence[Any],
    xs: Sequence[jax.Array],
) -> tuple:
    """The results of a function of NumPy arrays."""
    shapes = [*map(_shape, xs), *map(_shape, kinds)]

    def called(
        _tensors: Any, inputs: int, _outputs: int, data: Any, _device: int
    ) -> int | None:
        try:
            arrays = [_array(data[i], *shape) for i, shape in enumerate(shapes)]
            made = function(*(array.copy() for array in arrays[:inputs]))
            for array, result in zip(arrays[inputs:], made, strict=True):
                array[...] = result
        except (
            BaseException
        ) as error:  # it must not pass through code that is not Python's
            return _kept_text(one_line(error, kind=True))
        return None

    native = FUNCTION(called)
    KEPT.append(native)
    address = ctypes.cast(native, ctypes.c_void_p).value or 0
    return call_foreign(address, len(xs), len(kinds), kinds, xs)


def _shape(value: Any) -> tuple[tuple[int, ...], np.dtype]:
    return tuple(value.shape), np.dtype(value.dtype)


def _array(address: int | None, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The memory at an address as an array; there is none where there are no elements."""
    size = int(np.prod(shape)) * dtype.itemsize
    if not size or address is None:
        return np.empty(shape, dtype)
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(memoryview(memory), dtype).reshape(shape)


def _kept_text(text: str) -> int:
    """The address of a text, which stays there for a while."""
    buffer = ctypes.create_string_buffer(text.encode(errors="replace"))
    TEXTS.append(buffer)
    del TEXTS[:-MOST_TEXTS]
    return ctypes.addressof(buffer)


@cache
def _register() -> None:
    source = Path(__file__).with_name("custom.cpp")
    flags = ["-std=c++17", "-fvisibility=default", f"-I{jax.ffi.include_dir()}"]
    path = build(
        "custom operators for JAX",
        source.read_text(encoding="utf-8"),
        source.parent,
        flags,
        depends=jax.lib.__version__,
    )
    handler = getattr(ctypes.CDLL(str(path)), TARGET)
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform="cpu")
