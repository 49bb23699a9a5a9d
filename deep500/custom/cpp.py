"""Operators in C++: a class in a file, compiled when needed for the dtype it is called with."""

import ctypes
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..contracts.dtypes import name_of
from ..contracts.operator import Tensor
from ..errors import Deep500Error, Unsupported
from .building import build
from .description import Signature, TensorDesc
from .operators import Arrays, CustomOp

CTYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "deep500::float16",
    "bfloat16": "deep500::bfloat16",
}
TYPES = {
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "uint8": 5,
    "uint16": 6,
    "uint32": 7,
    "uint64": 8,
    "float16": 9,
    "float32": 10,
    "float64": 11,
    "bfloat16": 13,
    "bool": 14,
}  # deep500::tensortype_t
LANGUAGE = ("-std=c++17", "-I.")
FLAGS = (*LANGUAGE, "-Wl,--wrap=GOMP_parallel", "-DD500_WRAPS_OPENMP")


class TensorT(ctypes.Structure):
    """deep500::tensor_t."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("order", ctypes.c_int),
        ("dims", ctypes.c_int),
        ("sizes", ctypes.POINTER(ctypes.c_uint32)),
    )


@dataclass(frozen=True)
class Parameter:
    """A pointer that forward takes."""

    dtype: str
    const: bool


class Library:
    """A compiled operator for one dtype: what its functions take, and where they are."""

    def __init__(self, name: str, path: Path):
        self.name, self.path = name, path
        self.library = ctypes.CDLL(str(path))
        try:
            signature = self.library.d500_signature
            self.forward, self.backward = (
                self.library.d500_forward,
                self.library.d500_backward,
            )
        except AttributeError:
            raise Deep500Error(
                f"{name} registers no operator: end the file with D500_REGISTER_OP({name});"
            ) from None
        signature.restype = self.forward.restype = self.backward.restype = (
            ctypes.c_char_p
        )
        arguments = (
            ctypes.POINTER(TensorT),
            ctypes.c_int,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.c_int,
        )
        self.forward.argtypes = self.backward.argtypes = arguments
        forward, backward = signature().decode().split(";")
        self.parameters, self.differentiable = _parameters(forward), bool(backward)
        self.inputs = [p for p in self.parameters if p.const]
        self.outputs = [p for p in self.parameters if not p.const]
        n, m = len(self.inputs), len(self.outputs)
        if [p.const for p in self.parameters] != [True] * n + [False] * m or not m:
            raise Deep500Error(
                f"{name}.forward takes const pointers (the inputs), then others (the outputs), and "
                f"is given as ({forward})"
            )
        if self.differentiable and len(_parameters(backward)) != 2 * (n + m):
            raise Deep500Error(
                f"{name}.backward takes {2 * (n + m)} pointers (gradients of outputs, inputs, outputs, "
                f"gradients of inputs), and is given as ({backward})"
            )

    def set_threads(self, count: int) -> None:
        """Later calls use this many OpenMP threads, also more than there are cores; 0 leaves it to the framework.

        The number is the library's: it holds for all operators of this process that were built from the same text.
        """
        self.library.d500_set_threads(count)

    def call(self, function: Any, tensors: Sequence[Tensor], arrays: Arrays) -> None:
        """Run on these arrays; `tensors` are the inputs and the outputs of the operator."""
        kept = [*map(_description, tensors)]  # and with them the memory of their sizes
        descriptions = (TensorT * len(tensors))(*kept)
        data = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        if fault := function(
            descriptions, len(self.inputs), len(self.outputs), data, 0
        ):
            raise Deep500Error(
                f"{self.name}: {' '.join(fault.decode(errors='replace').split())[:300]}"
            )


class CppOp(CustomOp):
    """A class in a C++ file. Where the source leaves DTYPE open, it is compiled for every dtype that comes."""

    def __init__(
        self,
        name: str,
        source: Path,
        inputs: Sequence[TensorDesc] | None,
        outputs: Sequence[TensorDesc] | None,
        definitions: Mapping[str, str],
    ):
        self.source, self.definitions = source, dict(definitions)
        self._name, self._given = name, (inputs, outputs)
        self._libraries: dict[str, Library] = {}
        self._others: dict[str, CppOp] = {}
        self._threads = 0
        # Where outputs and gradients are written; a check sets a function that puts guards around them.
        self.allocate: Callable[[tuple[int, ...], str], np.ndarray] = np.empty

    @property
    def described(self) -> bool:
        """Whether somebody said what tensors it takes or makes."""
        return self._given != (None, None)

    @cached_property
    def text(self) -> str:
        """The source as it is compiled: with the header, and registered under its name if it does not do so itself."""
        try:
            code = self.source.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Deep500Error(
                f"the C++ file {self.source} cannot be read: {error}"
            ) from None
        template = re.search(
            rf"template\s*<[^>]*>\s*(class|struct)\s+{re.escape(self._name)}\b", code
        )
        tail = (
            ""
            if "D500_REGISTER_OP" in code
            else f"\nD500_REGISTER_OP({self._name}{'<DTYPE>' if template else ''});\n"
        )
        return (
            f'#include <deep500/deep500.h>\n#line 1 "{self.source.name}"\n{code}{tail}'
        )

    @property
    def open(self) -> bool:
        """Whether the source is for any dtype."""
        return re.search(r"\bDTYPE\b", self.text) is not None

    @cached_property
    def dtype(self) -> str | None:
        """That of DTYPE; None when the source does not use it, or nobody has said."""
        given = self.definitions.get("DTYPE")
        return next((name for name, word in CTYPES.items() if word == given), None)

    @property
    def folder(self) -> Path:
        """Where the source looks for what it includes."""
        return self.source.resolve().parent

    def definition_flags(self, dtype: str) -> list[str]:
        """The definitions as the compiler takes them, with DTYPE where the source leaves it open."""
        words = self.definitions
        if self.open and "DTYPE" not in words:
            if dtype not in CTYPES:
                raise Unsupported(
                    f"{self._name} is compiled for {', '.join(CTYPES)}, not for {dtype}"
                )
            words = {"DTYPE": CTYPES[dtype]} | words
        return [f"-D{key}={value}" for key, value in words.items()]

    def library(self, dtype: str) -> Library:
        """Compiled for this float dtype."""
        key = dtype if self.open and "DTYPE" not in self.definitions else ""
        if key not in self._libraries:
            flags = [*FLAGS, *self.definition_flags(dtype)]
            path = build(self.source.name, self.text, self.folder, flags)
            self._libraries[key] = Library(self._name, path)
            if self._threads:
                self._libraries[key].set_threads(self._threads)
        return self._libraries[key]

    @cached_property
    def signature(self) -> Signature:  # type: ignore[override]
        """As described; what is not, from the pointers that forward takes."""
        library, fixed = (
            self.library("float32"),
            "DTYPE" in self.definitions or not self.open,
        )
        inputs, outputs = self._given
        for what, given, found in [
            ("inputs", inputs, library.inputs),
            ("outputs", outputs, library.outputs),
        ]:
            if given is not None and len(given) != len(found):
                raise Deep500Error(
                    f"{self._name}.forward has {len(found)} {what} (const pointers are inputs), and "
                    f"{len(given)} {'is' if len(given) == 1 else 'are'} described"
                )
        return Signature(
            self._name,
            _completed(self._name, inputs, library.inputs, fixed),
            _completed(self._name, outputs, library.outputs, fixed),
        )

    @cached_property
    def differentiable(self) -> bool:  # type: ignore[override]
        return self.library("float32").differentiable

    @property
    def attributes(self) -> dict[str, Any]:
        return {key: value for key, value in self.definitions.items() if key != "DTYPE"}

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the pointers to constants that forward takes."""
        found = re.search(r"\bforward\s*\(([^)]*)\)", self.text)
        constant = (
            [part for part in found[1].split(",") if "const" in part] if found else []
        )
        names = [re.findall(r"\w+", part) for part in constant]
        return tuple(words[-1] for words in names if words)

    def in_dtype(self, dtype: str) -> "CppOp":
        if (
            not self.open
            and dtype in CTYPES
            and {p.dtype for p in self.library(dtype).inputs} & {*CTYPES} - {dtype}
        ):
            raise Unsupported(
                f"{self.name} is written for one dtype, and {dtype} was asked for, in which operators "
                "are checked: write DTYPE in place of that float, and it is compiled for each"
            )
        if self.dtype in (None, dtype) or dtype not in CTYPES:
            return self
        if dtype not in self._others:
            inputs, outputs = self._given
            kind = self.signature.in_dtype(dtype)
            self._others[dtype] = CppOp(
                self._name,
                self.source,
                inputs and kind.inputs,
                outputs and kind.outputs,
                self.definitions | {"DTYPE": CTYPES[dtype]},
            )
            self._others[dtype]._threads = self._threads
        other = self._others[dtype]
        other.allocate = self.allocate
        return other

    def set_threads(self, count: int) -> None:
        """As `Library.set_threads`, for every dtype and on every framework."""
        self._threads = count
        for library in self._libraries.values():
            library.set_threads(count)
        for other in self._others.values():
            other.set_threads(count)

    def infer(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Without a description an output is shaped as the first input."""
        made = self.signature.made(inputs)
        return tuple(
            Tensor(inputs[0].shape, desc.dtype or inputs[0].dtype)
            if tensor is None
            else tensor
            for tensor, desc in zip(made, self.signature.outputs, strict=True)
        )

    def run(self, inputs: Arrays) -> tuple[np.ndarray, ...]:
        kinds = tuple(Tensor(x.shape, x.dtype.name) for x in inputs)
        made = self.infer(*kinds)
        outputs = tuple(self.allocate(t.shape, t.dtype) for t in made)
        library = self.library(float_of(kinds))
        library.call(
            library.forward,
            (*kinds, *made),
            [*map(np.ascontiguousarray, inputs), *outputs],
        )
        return outputs

    def gradients(
        self, grads: Arrays, inputs: Arrays, outputs: Arrays
    ) -> tuple[np.ndarray, ...]:
        kinds = [Tensor(x.shape, x.dtype.name) for x in (*inputs, *outputs)]
        made = tuple(self.allocate(x.shape, x.dtype.name) for x in inputs)
        given = [
            np.ascontiguousarray(g, y.dtype)
            for g, y in zip(grads, outputs, strict=True)
        ]
        library = self.library(float_of(kinds))
        library.call(
            library.backward,
            kinds,
            [*given, *map(np.ascontiguousarray, (*inputs, *outputs)), *made],
        )
        return made


def compile_custom_cppop(
    name: str,
    source: "str | os.PathLike[str]",
    inputs: Sequence[TensorDesc] | None = None,
    outputs: Sequence[TensorDesc] | None = None,
    definitions: Mapping[str, Any] | None = None,
) -> CppOp:
    """The operator of that name in a C++ file, compiled with -O3 and OpenMP, once for every content.

    Without descriptions it takes what its forward takes, of any shape, and every output is shaped as the first input.
    `definitions` are handed to the preprocessor; one named DTYPE says which float a source for any of them is for.
    """
    words = {key: str(value) for key, value in (definitions or {}).items()}
    if wrong := [key for key in words if not re.fullmatch(r"[A-Za-z_]\w*", key)]:
        raise Deep500Error(
            f"{wrong[0]!r} cannot be defined in C++: a name is letters, digits and underscores"
        )
    op = CppOp(name, Path(source), inputs, outputs, words)
    op.signature  # noqa: B018 - compiled now, so that what is wrong is said now
    return op


def _parameters(text: str) -> list[Parameter]:
    return [
        Parameter(part.removeprefix("const "), part.startswith("const "))
        for part in text.split(",")
        if part
    ]


def _completed(
    name: str,
    given: Sequence[TensorDesc] | None,
    found: Sequence[Parameter],
    fixed: bool,
) -> tuple[TensorDesc, ...]:
    """Descriptions with the dtypes of the pointers; a pointer to DTYPE takes any float while that is open."""
    made = []
    for desc, parameter in zip(
        given or [TensorDesc()] * len(found), found, strict=True
    ):
        free = parameter.dtype == "any" or (not fixed and parameter.dtype == "float32")
        if desc.dtype not in (None, parameter.dtype) and not free:
            raise Deep500Error(
                f"{name}.forward takes {parameter.dtype}, and {desc} is described"
            )
        made.append(desc if free else TensorDesc(desc.shape, parameter.dtype))
    return tuple(made)


def float_of(kinds: Sequence[Tensor]) -> str:
    """The dtype that an operator is compiled for, when tensors of these kinds come."""
    return next((t.dtype for t in kinds if "float" in t.dtype), "float32")


def _description(tensor: Tensor) -> TensorT:
    sizes = (ctypes.c_uint32 * max(len(tensor.shape), 1))(*tensor.shape)
    pointer = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_uint32))
    return TensorT(TYPES[name_of(tensor.dtype)], 0, len(tensor.shape), pointer)
