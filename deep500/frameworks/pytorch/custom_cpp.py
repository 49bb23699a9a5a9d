"""The bridge to custom.cpp, which is built once per version of PyTorch."""

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ...contracts.operator import TensorSpec
from ...custom.building import build
from ...custom.cpp import TYPES, CppOp
from ...errors import Deep500Error

# the numbers of c10::ScalarType
SCALARS = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "bool": 11,
    "bfloat16": 15,
    "uint16": 27,
    "uint32": 28,
    "uint64": 29,
}
NAMES = {number: name for name, number in SCALARS.items()}
Prepare = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)
)
# Keeps callbacks alive: PyTorch's dispatcher refers to defined operators until the process ends.
_DEFINED: list[Any] = []


def define(op: CppOp, name: str, schema: str, backward: str) -> None:
    """Register the operator with PyTorch's dispatcher; the kernel for some shapes is planned when inputs have them."""
    bridge = _bridge()

    def prepare(handle: int, numbers: Any) -> int:
        try:
            inputs = _decoded(numbers, len(op.signature.inputs))
            tensors = (*inputs, *op.infer(*inputs))
            library = op.library(_float_dtype(tensors))
            codes = _encoded(tensors)
            bridge.deep500_plan(handle, codes, *library.functions)
            return 0
        except Exception as error:  # C++ waits for an answer
            bridge.deep500_refuse(handle, str(error).encode())
            return 1

    callback = Prepare(prepare)
    _DEFINED.append((op, callback))
    counts = len(op.signature.inputs), len(op.signature.outputs)
    texts = name.encode(), schema.encode(), backward.encode()
    if not bridge.deep500_define(*texts, *counts, callback):
        fault = bridge.deep500_fault().decode()
        reason = fault.splitlines()[0]
        raise Deep500Error(f"PyTorch refuses the operator {name}: {reason}")


@cache
def _bridge() -> ctypes.CDLL:
    source = Path(__file__).with_name("custom.cpp")
    root = Path(torch.__file__).parent
    libraries = root / "lib"
    new_abi = int(torch.compiled_with_cxx11_abi())
    flags = [
        "-std=c++20",
        "-O2",
        f"-I{root / 'include'}",
        f"-L{libraries}",
        f"-Wl,-rpath,{libraries}",
        "-Wl,--no-as-needed",
        "-lc10",
        "-ltorch_cpu",
        f"-D_GLIBCXX_USE_CXX11_ABI={new_abi}",
    ]
    path = build(
        "custom operators for PyTorch",
        source.read_text(encoding="utf-8"),
        source.parent,
        flags,
        depends=torch.__version__,
    )
    library = ctypes.CDLL(str(path))
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    library.deep500_define.restype = pointer
    library.deep500_define.argtypes = [
        text,
        text,
        text,
        number,
        number,
        Prepare,
    ]
    library.deep500_fault.restype = text
    library.deep500_refuse.argtypes = [pointer, text]
    numbers = ctypes.POINTER(ctypes.c_int64)
    library.deep500_plan.argtypes = [pointer, numbers, *[pointer] * 4]
    return library


def _decoded(numbers: Any, count: int) -> tuple[TensorSpec, ...]:
    """The first tensors described by numbers from C++: for each its type, its rank and its shape."""
    tensors = []
    start = 0
    for _ in range(count):
        dtype = NAMES.get(numbers[start], "unknown")
        rank = numbers[start + 1]
        end = start + 2 + rank
        shape = tuple(numbers[start + 2 : end])
        tensors.append(TensorSpec(shape, dtype))
        start = end
    return tuple(tensors)


def _encoded(tensors: Sequence[TensorSpec]) -> "ctypes.Array[ctypes.c_int64]":
    """The tensors as numbers for C++: for each its type in PyTorch, its type in our kernels, its rank and its shape."""
    numbers: list[int] = []
    for tensor in tensors:
        types = SCALARS[tensor.dtype], TYPES[tensor.dtype]
        numbers += [*types, len(tensor.shape), *tensor.shape]
    return (ctypes.c_int64 * len(numbers))(*numbers)


def _float_dtype(tensors: Sequence[TensorSpec]) -> str:
    """The dtype of the first float, for which the kernels are built."""
    for tensor in tensors:
        if "float" in tensor.dtype:
            return tensor.dtype
    return "float32"
