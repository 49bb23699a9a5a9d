"""The bridge to custom.cpp, which is built once for a version of PyTorch."""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ...contracts.operator import Tensor
from ...custom.building import build
from ...custom.cpp import TYPES, CppOp
from ...errors import Deep500Error

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
}  # c10::ScalarType
NAMES = {number: name for name, number in SCALARS.items()}
Prepare = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)
)
_KEPT: list[
    Any
] = []  # PyTorch's dispatcher holds on to what is defined for as long as the process runs


def define(op: CppOp, name: str, schema: str, backward: str) -> None:
    """Register the operator with PyTorch's dispatcher; plans are made when inputs come."""
    bridge = _bridge()

    def prepare(handle: int, numbers: Any) -> int:
        try:
            given = _tensors(numbers, len(op.signature.inputs))
            tensors = (*given, *op.infer(*given))
            library = op.library(
                next((t.dtype for t in tensors if "float" in t.dtype), "float32")
            )
            flat = [
                n
                for t in tensors
                for n in (SCALARS[t.dtype], TYPES[t.dtype], len(t.shape), *t.shape)
            ]
            bridge.deep500_plan(
                handle,
                (ctypes.c_int64 * len(flat))(*flat),
                library.forward,
                library.backward,
            )
            return 0
        except Exception as error:  # C++ is waiting for an answer
            bridge.deep500_refuse(handle, str(error).encode())
            return 1

    called_back = Prepare(prepare)
    _KEPT.append((op, called_back))
    counts = len(op.signature.inputs), len(op.signature.outputs)
    if not bridge.deep500_define(
        name.encode(), schema.encode(), backward.encode(), *counts, called_back
    ):
        raise Deep500Error(
            f"PyTorch refuses the operator {name}: {bridge.deep500_fault().decode().splitlines()[0]}"
        )


@cache
def _bridge() -> ctypes.CDLL:
    source, root = Path(__file__).with_name("custom.cpp"), Path(torch.__file__).parent
    flags = [
        "-std=c++20",
        "-O2",
        f"-I{root / 'include'}",
        f"-L{root / 'lib'}",
        f"-Wl,-rpath,{root / 'lib'}",
        "-Wl,--no-as-needed",
        "-lc10",
        "-ltorch_cpu",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
    ]
    path = build(
        "custom operators for PyTorch",
        source.read_text(encoding="utf-8"),
        source.parent,
        flags,
        depends=torch.__version__,
    )
    library = ctypes.CDLL(str(path))
    library.deep500_define.restype = ctypes.c_void_p
    library.deep500_define.argtypes = (
        [ctypes.c_char_p] * 3 + [ctypes.c_int] * 2 + [Prepare]
    )
    library.deep500_fault.restype = ctypes.c_char_p
    library.deep500_refuse.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.deep500_plan.argtypes = [
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_int64),
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    return library


def _tensors(numbers: Any, count: int) -> tuple[Tensor, ...]:
    found, at = [], 0
    for _ in range(count):
        rank = numbers[at + 1]
        found.append(
            Tensor(
                tuple(numbers[at + 2 : at + 2 + rank]),
                NAMES.get(numbers[at], "unknown"),
            )
        )
        at += 2 + rank
    return tuple(found)
