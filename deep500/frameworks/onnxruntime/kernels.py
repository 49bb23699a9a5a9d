"""Which dtypes and kernels for ONNX's nodes a provider of ONNX Runtime has."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import onnx

from ...contracts.network import Node
from ...contracts.operator import Operator, TensorSpec
from ...onnx.recording.graphs import is_native
from ...onnx.recording.kernels import OPSET, Kernels, type_name, typed_inputs
from ...onnx.recording.namespace import OnnxRecorder
from . import FRAMEWORK
from .providers import CPU, Provider

Settings = dict[str, Any]


def _has_even_size(settings: Settings) -> bool:
    return settings["size"] % 2 == 0


def _is_recurrent_refused(settings: Settings) -> bool:
    """Whether the hidden size is missing, or the batch is the first axis."""
    return not settings["hidden_size"] or settings["layout"] == 1


# Settings that ONNX Runtime has no kernels for, by operator.
REFUSED: dict[str, Callable[[Settings], bool]] = {
    "LRN": _has_even_size,
    "RNN": _is_recurrent_refused,
    "LSTM": _is_recurrent_refused,
    "GRU": _is_recurrent_refused,
}
DIVISIONS = ("Div", "Mod")


class OnnxRuntimeKernels(Kernels):
    """Chooses by ONNX Runtime's own list of kernels; bfloat16, which has hardly any, is computed in float32."""

    by_float32 = ("bfloat16",)

    def __init__(self, provider: Provider):
        self.provider = provider
        self.one_vector = provider.in_host_memory

    def dtype(self, name: str) -> str:
        return FRAMEWORK.dtype(name)

    def takes(self, node: str, dtype: str) -> bool:
        match node:
            case "Conv" | "ConvTranspose":
                return dtype == "float32"
            case "Where":
                return dtype not in ("int16", "uint16")
            case "BitShift":
                return dtype in ("uint8", "uint32", "uint64")
        return super().takes(node, dtype)

    def has_node(self, operator: Operator) -> bool:
        refused = REFUSED.get(type(operator).__name__)
        if refused is not None and refused(operator.settings):
            return False
        return super().has_node(operator)

    def has_kernel(self, operator: Operator, dtypes: Sequence[str | None]) -> bool:
        if not super().has_kernel(operator, dtypes):
            return False
        name = type(operator).__name__
        if name in DIVISIONS and dtypes[0] in ("int32", "int64"):
            return False  # the smallest integer divided by -1 ends the process
        pairs = typed_inputs(name, dtypes)
        kernels = _kernel_types(name, self.provider.name)
        return any(_fits(types, pairs) for types in kernels)


def kernel_kind(
    xp: OnnxRecorder, node: Node, inputs: Sequence[Any], training: bool
) -> str:
    """Return how a node will be recorded for inputs of these dtypes: "native" or "composed"."""
    dtypes = [x.dtype if isinstance(x, TensorSpec) else None for x in inputs]
    if any(dtypes):
        native = is_native(xp, node.operator, dtypes, training)
    else:  # there is nothing to choose a kernel by
        native = xp.kernels.has_node(node.operator)
    return "native" if native else "composed"


def _fits(types: dict[str, list[str]], pairs: Sequence[tuple[Any, str]]) -> bool:
    """Whether a kernel with these types, by the names of ONNX's type constraints, takes inputs of these dtypes."""
    for formal, dtype in pairs:
        names = types.get(formal.type_str)
        if names is not None and _runs_on(dtype).isdisjoint(names):
            return False
    return True


def _runs_on(dtype: str) -> set[str]:
    """The types of kernels that take a dtype; ONNX Runtime converts float16 to float itself."""
    types = {type_name(dtype)}
    if dtype == "float16":
        types.add("tensor(float)")
    return types


@cache
def _kernel_types(operator: str, provider: str) -> list[dict[str, list[str]]]:
    """For every kernel of a provider, the types that it takes, by the names of ONNX's type constraints.

    A provider that compiles graphs lists no kernels: it is taken to have those of the CPU.
    """
    since = onnx.defs.get_schema(operator, OPSET).since_version
    kernels = _all_kernels()
    if not any(kernel.provider == provider for kernel in kernels):
        provider = CPU.name
    key = (operator, "", provider)
    constraints = []
    for kernel in kernels:
        if (kernel.op_name, kernel.domain, kernel.provider) != key:
            continue
        versions = kernel.version_range
        if versions[0] <= since <= versions[1]:
            constraints.append(kernel.type_constraints)
    return constraints


@cache
def _all_kernels() -> list[Any]:
    import onnxruntime  # type: ignore[import-untyped]

    return onnxruntime.capi.onnxruntime_pybind11_state.get_all_opkernel_def()
