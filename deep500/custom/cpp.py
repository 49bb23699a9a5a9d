"""Operators in C++: a class in a file, compiled on demand for the dtype it is called with."""

import ctypes
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..contracts.dtypes import name_of
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error, Unsupported, one_line
from .building import build
from .cuda_building import SUFFIX as CUDA_SUFFIX
from .cuda_building import build_cuda
from .description import OperatorSignature, TensorDesc
from .operators import Arrays, CustomOp

CTYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "deep500::float16",
    "bfloat16": "deep500::bfloat16",
}
PERTURBED = "deep500::perturbed"  # as float64, with an error in every result
# deep500::tensortype_t
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
}
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
    """A compiled operator for one dtype: its functions and their parameters."""

    def __init__(self, name: str, path: Path):
        self.name = name
        self.path = path
        self.library = _loaded(name, path)
        try:
            signature = self.library.d500_signature
            self.forward = self.library.d500_forward
            self.backward = self.library.d500_backward
        except AttributeError:
            raise Deep500Error(
                f"{name} registers no operator: end the file with D500_REGISTER_OP({name});"
            ) from None
        signature.restype = ctypes.c_char_p
        arguments = (
            ctypes.POINTER(TensorT),
            ctypes.c_int,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.c_int,
        )
        for function in (self.forward, self.backward):
            function.restype = ctypes.c_char_p
            function.argtypes = arguments
        # None without nvcc, or if the class has none
        self.forward_cuda = self._queuing("d500_forward_cuda", backward=False)
        self.backward_cuda = self._queuing("d500_backward_cuda", backward=True)
        forward, backward = signature().decode().split(";")
        self.parameters = _parameters(forward)
        self.differentiable = bool(backward)
        self.inputs = [p for p in self.parameters if p.const]
        self.outputs = [p for p in self.parameters if not p.const]
        self._check_forward(forward)
        if self.differentiable:
            self._check_backward(backward)

    @property
    def functions(self) -> tuple[Any, Any, Any, Any]:
        """Forward and backward for the host, and for CUDA where it has them."""
        return self.forward, self.backward, self.forward_cuda, self.backward_cuda

    def _queuing(self, name: str, backward: bool) -> Any:
        """The function of this name that queues kernels of CUDA on a stream; None if there is none."""
        has_cuda = getattr(self.library, "d500_has_cuda", None)
        if has_cuda is None or not has_cuda(backward):
            return None
        function = getattr(self.library, name)
        function.restype = ctypes.c_char_p
        function.argtypes = (
            ctypes.POINTER(TensorT),
            ctypes.c_int,
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.c_void_p,
        )
        return function

    def _check_forward(self, signature: str) -> None:
        if not self.outputs or self.parameters != self.inputs + self.outputs:
            raise Deep500Error(
                f"{self.name}.forward takes const pointers (the inputs), then others (the outputs), and "
                f"is given as ({signature})"
            )

    def _check_backward(self, signature: str) -> None:
        expected = 2 * len(self.parameters)
        if len(_parameters(signature)) != expected:
            raise Deep500Error(
                f"{self.name}.backward takes {expected} pointers (gradients of outputs, inputs, outputs, "
                f"gradients of inputs), and is given as ({signature})"
            )

    def set_threads(self, count: int) -> None:
        """Let later calls use this many OpenMP threads, even more than there are cores; 0 leaves it to the framework.

        The number applies to all operators of this process that were built from the same text.
        """
        self.library.d500_set_threads(count)

    def call(
        self,
        function: Any,
        tensors: Sequence[TensorSpec],
        arrays: Arrays,
        threads: int,
    ) -> None:
        """Run on these arrays; `tensors` are the inputs and the outputs of the operator.

        `threads` are those of the framework, 0 if it did not say; `set_threads` comes before.
        """
        # keep the memory of their sizes alive
        structures = [*map(_tensor_t, tensors)]
        descriptions = (TensorT * len(tensors))(*structures)
        pointers = [array.ctypes.data for array in arrays]
        data = (ctypes.c_void_p * len(arrays))(*pointers)
        input_count = len(self.inputs)
        output_count = len(self.outputs)
        fault = function(descriptions, input_count, output_count, data, threads)
        if fault:
            text = fault.decode(errors="replace")
            message = " ".join(text.split())
            raise Deep500Error(f"{self.name}: {message[:300]}")


class CppOp(CustomOp):
    """A class in a C++ file. If the source leaves DTYPE open, it is compiled for every dtype it is called with."""

    def __init__(
        self,
        name: str,
        source: Path,
        inputs: Sequence[TensorDesc] | None,
        outputs: Sequence[TensorDesc] | None,
        definitions: Mapping[str, str],
    ):
        self.source = source
        self.definitions = dict(definitions)
        self._name = name
        self._descriptions = (inputs, outputs)
        self._libraries: dict[str, Library] = {}
        self._others: dict[str, CppOp] = {}
        self._perturbed: CppOp | None = None
        self._threads = 0
        # Where outputs and gradients are written; a check sets a function that puts guards around them.
        self.allocate: Callable[[tuple[int, ...], str], np.ndarray] = np.empty

    @property
    def described(self) -> bool:
        """Whether its inputs or outputs are described."""
        return self._descriptions != (None, None)

    @cached_property
    def text(self) -> str:
        """The source as it is compiled: with the header, and registered under its name if it does not do so itself."""
        try:
            code = self.source.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Deep500Error(
                f"the C++ file {self.source} cannot be read: {error}"
            ) from None
        registration = ""
        if "D500_REGISTER_OP" not in code:
            cls = self._name
            name = re.escape(cls)
            if re.search(rf"template\s*<[^>]*>\s*(class|struct)\s+{name}\b", code):
                cls = f"{cls}<DTYPE>"
            registration = f"\nD500_REGISTER_OP({cls});\n"
        header = f'#include <deep500/deep500.h>\n#line 1 "{self.source.name}"\n'
        return header + code + registration

    @property
    def open(self) -> bool:
        """Whether the source leaves DTYPE open."""
        return re.search(r"\bDTYPE\b", self.text) is not None

    @cached_property
    def dtype(self) -> str | None:
        """The dtype that DTYPE is defined as; None if it is not defined."""
        defined = self.definitions.get("DTYPE")
        for name, ctype in CTYPES.items():
            if ctype == defined:
                return name
        return None

    @property
    def folder(self) -> Path:
        """The folder in which the compiler looks for the files that the source includes."""
        return self.source.resolve().parent

    def definition_flags(self, dtype: str) -> list[str]:
        """The definitions as flags of the compiler, with DTYPE if the source leaves it open."""
        definitions = self.definitions
        if self.open and "DTYPE" not in definitions:
            if dtype not in CTYPES:
                dtypes = ", ".join(CTYPES)
                raise Unsupported(
                    f"{self._name} is compiled for {dtypes}, not for {dtype}"
                )
            definitions = {"DTYPE": CTYPES[dtype]} | definitions
        return [f"-D{key}={value}" for key, value in definitions.items()]

    def library(self, dtype: str) -> Library:
        """The operator compiled for this float dtype."""
        key = ""
        if self.open and "DTYPE" not in self.definitions:
            key = dtype
        if key not in self._libraries:
            library = Library(self._name, self._built(dtype))
            self._libraries[key] = library
            if self._threads:
                library.set_threads(self._threads)
        return self._libraries[key]

    def _built(self, dtype: str) -> Path:
        name, flags = self.source.name, self.definition_flags(dtype)
        if self.source.suffix == CUDA_SUFFIX:
            return build_cuda(name, self.text, self.folder, [*LANGUAGE, *flags])
        return build(name, self.text, self.folder, [*FLAGS, *flags])

    @cached_property
    def runs_on_cuda(self) -> bool:
        """Whether it has a forward for CUDA."""
        return self.library("float32").forward_cuda is not None

    def load(self, dtype: str) -> None:
        """Compile and load it for this float dtype, if it can be; where it cannot, the first call raises the error."""
        with suppress(Deep500Error):
            self.in_dtype(dtype).library(dtype)

    @cached_property
    def signature(self) -> OperatorSignature:  # type: ignore[override]
        """As described; what is not described comes from the pointers that forward takes."""
        library = self.library("float32")
        inputs, outputs = self._descriptions
        self._check_count("inputs", inputs, library.inputs)
        self._check_count("outputs", outputs, library.outputs)
        fixed = "DTYPE" in self.definitions or not self.open
        complete_inputs = _completed(self._name, inputs, library.inputs, fixed)
        complete_outputs = _completed(self._name, outputs, library.outputs, fixed)
        return OperatorSignature(self._name, complete_inputs, complete_outputs)

    def _check_count(
        self,
        role: str,
        descriptions: Sequence[TensorDesc] | None,
        parameters: Sequence[Parameter],
    ) -> None:
        if descriptions is None or len(descriptions) == len(parameters):
            return
        count = len(descriptions)
        verb = "is" if count == 1 else "are"
        raise Deep500Error(
            f"{self._name}.forward has {len(parameters)} {role} (const pointers are inputs), and "
            f"{count} {verb} described"
        )

    @cached_property
    def differentiable(self) -> bool:  # type: ignore[override]
        return self.library("float32").differentiable

    @property
    def attributes(self) -> dict[str, Any]:
        attributes: dict[str, Any] = dict(self.definitions)
        attributes.pop("DTYPE", None)
        return attributes

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the pointers to constants that forward takes."""
        declaration = re.search(r"\bforward\s*\(([^)]*)\)", self.text)
        if declaration is None:
            return ()
        names = []
        for parameter in declaration[1].split(","):
            identifiers = re.findall(r"\w+", parameter)
            if "const" in parameter and identifiers:
                names.append(identifiers[-1])
        return tuple(names)

    def in_dtype(self, dtype: str) -> "CppOp":
        if dtype not in CTYPES:
            return self
        if self._perturbed is not None and dtype == "float64":
            return self._perturbed
        if not self.open and self._takes_other_float(dtype):
            raise Unsupported(
                f"{self.name} is written for one dtype, and {dtype} was asked for, in which operators "
                "are checked: write DTYPE in place of that float, and it is compiled for each"
            )
        if self.dtype in (None, dtype):
            return self
        if dtype not in self._others:
            self._others[dtype] = self._redefined(dtype)
        other = self._others[dtype]
        other.allocate = self.allocate
        return other

    @cached_property
    def can_be_perturbed(self) -> bool:
        """Whether it compiles with a class in place of its float, as a template over DTYPE does."""
        if not self.open:
            return False
        try:
            self._perturbing.library("float64")
        except Deep500Error:
            return False
        return True

    @contextmanager
    def perturbed(self, seed: int, fraction: int) -> Iterator[None]:
        """Within this context, runs in float64 leave errors behind in every result, as if it had so few bits."""
        perturbing = self._perturbing
        library = perturbing.library("float64")
        library.library.d500_perturb(ctypes.c_uint64(seed), fraction)
        self._perturbed = perturbing
        try:
            yield
        finally:
            self._perturbed = None

    @property
    def _perturbing(self) -> "CppOp":
        """This operator with perturbed numbers for DTYPE."""
        if PERTURBED not in self._others:
            inputs, outputs = self._descriptions
            definitions = self.definitions | {"DTYPE": PERTURBED}
            other = CppOp(self._name, self.source, inputs, outputs, definitions)
            other._threads = self._threads
            self._others[PERTURBED] = other
        return self._others[PERTURBED]

    def _takes_other_float(self, dtype: str) -> bool:
        other_floats = {*CTYPES} - {dtype}
        parameters = self.library(dtype).inputs
        return any(parameter.dtype in other_floats for parameter in parameters)

    def _redefined(self, dtype: str) -> "CppOp":
        """This operator with DTYPE defined as this dtype."""
        inputs, outputs = self._descriptions
        signature = self.signature.in_dtype(dtype)
        definitions = self.definitions | {"DTYPE": CTYPES[dtype]}
        new_inputs = inputs and signature.inputs
        new_outputs = outputs and signature.outputs
        other = CppOp(self._name, self.source, new_inputs, new_outputs, definitions)
        other._threads = self._threads
        return other

    def set_threads(self, count: int) -> None:
        """Like `Library.set_threads`, for every dtype and on every framework."""
        self._threads = count
        for library in self._libraries.values():
            library.set_threads(count)
        for other in self._others.values():
            other.set_threads(count)

    def infer(self, *inputs: TensorSpec) -> tuple[TensorSpec, ...]:
        """An output without a described shape has that of the first input."""
        outputs = []
        described = self.signature.described_outputs(inputs)
        for tensor, desc in zip(described, self.signature.outputs, strict=True):
            if tensor is None:
                first = inputs[0]
                tensor = TensorSpec(first.shape, desc.dtype or first.dtype)
            outputs.append(tensor)
        return tuple(outputs)

    def run(self, inputs: Arrays, threads: int = 0) -> tuple[np.ndarray, ...]:
        input_specs = _specs(inputs)
        output_specs = self.infer(*input_specs)
        outputs = tuple(self.allocate(spec.shape, spec.dtype) for spec in output_specs)
        library = self.library(float_of(input_specs))
        contiguous = map(np.ascontiguousarray, inputs)
        specs = (*input_specs, *output_specs)
        arrays = [*contiguous, *outputs]
        library.call(library.forward, specs, arrays, threads)
        return outputs

    def gradients(
        self,
        grads: Arrays,
        inputs: Arrays,
        outputs: Arrays,
        threads: int = 0,
    ) -> tuple[np.ndarray, ...]:
        values = (*inputs, *outputs)
        specs = _specs(values)
        input_grads = tuple(self.allocate(x.shape, x.dtype.name) for x in inputs)
        output_grads = []
        for gradient, output in zip(grads, outputs, strict=True):
            output_grads.append(np.ascontiguousarray(gradient, output.dtype))
        library = self.library(float_of(specs))
        contiguous = map(np.ascontiguousarray, values)
        arrays = [*output_grads, *contiguous, *input_grads]
        library.call(library.backward, specs, arrays, threads)
        return input_grads


def compile_custom_cppop(
    name: str,
    source: "str | os.PathLike[str]",
    inputs: Sequence[TensorDesc] | None = None,
    outputs: Sequence[TensorDesc] | None = None,
    definitions: Mapping[str, Any] | None = None,
) -> CppOp:
    """The operator of that name in a C++ file, compiled with -O3 and OpenMP, once for every content.

    Without descriptions it takes what its forward takes, of any shape, and every output has the shape of the first
    input. `definitions` are handed to the preprocessor; DTYPE among them selects the float of a source that leaves it
    open. Raises `Deep500Error` if it does not compile.
    """
    texts: dict[str, str] = {}
    for key, value in (definitions or {}).items():
        texts[key] = str(value)
    for key in texts:
        if not re.fullmatch(r"[A-Za-z_]\w*", key):
            raise Deep500Error(
                f"{key!r} cannot be defined in C++: a name is letters, digits and underscores"
            )
    op = CppOp(name, Path(source), inputs, outputs, texts)
    op.signature  # noqa: B018 - compiles it now, so that errors are raised here
    return op


def _loaded(name: str, path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise Deep500Error(
            f"{name} is compiled, and cannot be loaded: {one_line(error)}. For CUDA, add the folder of its runtime "
            "to LD_LIBRARY_PATH"
        ) from None


def _parameters(text: str) -> list[Parameter]:
    parameters = []
    for part in text.split(","):
        if part:
            dtype = part.removeprefix("const ")
            is_const = part.startswith("const ")
            parameters.append(Parameter(dtype, is_const))
    return parameters


def _completed(
    name: str,
    descriptions: Sequence[TensorDesc] | None,
    parameters: Sequence[Parameter],
    fixed: bool,
) -> tuple[TensorDesc, ...]:
    """Descriptions with the dtypes of the pointers; a pointer to DTYPE takes any float unless `fixed`."""
    if not descriptions:
        descriptions = [TensorDesc()] * len(parameters)
    completed = []
    for desc, parameter in zip(descriptions, parameters, strict=True):
        is_open = parameter.dtype == "float32" and not fixed
        if is_open or parameter.dtype == "any":
            completed.append(desc)
            continue
        if desc.dtype not in (None, parameter.dtype):
            raise Deep500Error(
                f"{name}.forward takes {parameter.dtype}, and {desc} is described"
            )
        completed.append(TensorDesc(desc.shape, parameter.dtype))
    return tuple(completed)


def _specs(arrays: Arrays) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(x.shape, x.dtype.name) for x in arrays)


def float_of(specs: Sequence[TensorSpec]) -> str:
    """The dtype that an operator is compiled for if it is called with such tensors."""
    for spec in specs:
        if "float" in spec.dtype:
            return spec.dtype
    return "float32"


def _tensor_t(tensor: TensorSpec) -> TensorT:
    rank = len(tensor.shape)
    array_type = ctypes.c_uint32 * max(rank, 1)
    sizes = array_type(*tensor.shape)
    pointer = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_uint32))
    number = TYPES[name_of(tensor.dtype)]
    return TensorT(number, 0, rank, pointer)
