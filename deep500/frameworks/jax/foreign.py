"""Calls functions outside of JAX from code compiled by XLA: in C++, or in Python on NumPy arrays.

Python functions are called through the same C++ interface. `jax.pure_callback` would first make JAX arrays of its
arguments, which needs a thread of the pool that waits for the callback: with one thread, that is a deadlock.
"""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ...contracts.device import HOST
from ...custom.building import build
from ...custom.cpp import TensorT
from ...errors import one_line
from .platforms import only_on

TARGET = "deep500_custom_op"
CUDA = "cuda"
FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_void_p,
    ctypes.POINTER(TensorT),
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int,
)
# Keeps functions alive, one per compilation: compiled code has only their addresses.
CALLBACKS: list[Any] = []
# The last error messages: XLA copies each of them after the function has returned.
TEXTS: list[Any] = []
MOST_TEXTS = 100  # so many calls may fail at the same time


def call_foreign(
    name: str,
    address: int,
    inputs: int,
    outputs: int,
    kinds: Sequence[Any],
    xs: Sequence[jax.Array],
    threads: int = 0,
    cuda_address: int = 0,
) -> tuple:
    """Return the results of the function at an address; they have the shapes and dtypes of `kinds`.

    On CUDA, the function at `cuda_address` is called. A program that is compiled for any other platform is refused,
    with the function's name; without `cuda_address`, one for CUDA is, too.
    """
    _register()
    shapes = [jax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in kinds]
    call = jax.ffi.ffi_call(TARGET, shapes, vmap_method="sequential")
    attributes = {
        "function": np.int64(address),
        "cuda_function": np.int64(cuda_address),
        "inputs": np.int64(inputs),
        "outputs": np.int64(outputs),
        "threads": np.int64(threads),
    }
    results = call(*xs, **attributes)
    platforms = [HOST, CUDA] if cuda_address else [HOST]
    return tuple([only_on(result, name, platforms) for result in results])


def call_python(
    function: Callable[..., Sequence[np.ndarray]],
    kinds: Sequence[Any],
    xs: Sequence[jax.Array],
) -> tuple:
    """Return the results of a function of NumPy arrays; they have the shapes and dtypes of `kinds`."""
    shapes = [*map(_shape, xs), *map(_shape, kinds)]

    def callback(
        _tensors: Any, inputs: int, _outputs: int, data: Any, _device: int
    ) -> int | None:
        try:
            arrays = [_array(data[i], *shape) for i, shape in enumerate(shapes)]
            copies = [array.copy() for array in arrays[:inputs]]
            results = function(*copies)
            for array, result in zip(arrays[inputs:], results, strict=True):
                array[...] = result
        except BaseException as error:  # exceptions must not pass through C++
            return _text_address(one_line(error, kind=True))
        return None

    native = FUNCTION(callback)
    CALLBACKS.append(native)
    address = ctypes.cast(native, ctypes.c_void_p).value or 0
    name = getattr(function, "__qualname__", type(function).__name__)
    return call_foreign(name, address, len(xs), len(kinds), kinds, xs)


def _shape(value: Any) -> tuple[tuple[int, ...], np.dtype]:
    return tuple(value.shape), np.dtype(value.dtype)


def _array(address: int | None, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The memory at an address as an array; an array without elements has no memory."""
    size = int(np.prod(shape)) * dtype.itemsize
    if not size or address is None:
        return np.empty(shape, dtype)
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(memoryview(memory), dtype).reshape(shape)


def _text_address(text: str) -> int:
    """The address of a text, which is kept until MOST_TEXTS others follow."""
    buffer = ctypes.create_string_buffer(text.encode(errors="replace"))
    TEXTS.append(buffer)
    del TEXTS[:-MOST_TEXTS]
    return ctypes.addressof(buffer)


@cache
def _register() -> None:
    handlers = handler_library()
    on_host = jax.ffi.pycapsule(getattr(handlers, TARGET))
    on_cuda = jax.ffi.pycapsule(getattr(handlers, f"{TARGET}_cuda"))
    jax.ffi.register_ffi_target(TARGET, on_host, platform=HOST)
    jax.ffi.register_ffi_target(TARGET, on_cuda, platform="CUDA")


def handler_library() -> ctypes.CDLL:
    """The handlers by which XLA calls operators, compiled if that has not been done before."""
    source = Path(__file__).with_name("custom.cpp")
    flags = ["-std=c++17", "-fvisibility=default", f"-I{jax.ffi.include_dir()}"]
    path = build(
        "custom operators for JAX",
        source.read_text(encoding="utf-8"),
        source.parent,
        flags,
        depends=jax.lib.__version__,
    )
    return ctypes.CDLL(str(path))
