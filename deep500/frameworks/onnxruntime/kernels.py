"""What ONNX Runtime has on the CPU: dtypes, and kernels for ONNX's nodes."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import onnx

from ...contracts.network import Node
from ...contracts.operator import Operator, Tensor
from ...onnx.recording.graphs import is_native
from ...onnx.recording.kernels import OPSET, Kernels, type_name, typed_inputs
from ...onnx.recording.namespace import Recorder
from . import FRAMEWORK

RECURRENT = dict.fromkeys(
    ("RNN", "LSTM", "GRU"),
    lambda settings: not settings["hidden_size"] or settings["layout"] == 1,
)
# Settings that ONNX Runtime has no kernels for.
REFUSED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "LRN": lambda settings: settings["size"] % 2 == 0,
    **RECURRENT,
}
DIVISIONS = ("Div", "Mod")


class OnnxRuntimeKernels(Kernels):
    """The choice by ONNX Runtime's own list of kernels; bfloat16, which has hardly one, goes by float32."""

    by_float32 = ("bfloat16",)

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
            return False  # the least integer by -1 ends the process
        pairs = typed_inputs(name, dtypes)
        return any(_fits(types, pairs) for types in _kernel_types(name))


def kernel_word(xp: Recorder, node: Node, inputs: Sequence[Any], training: bool) -> str:
    """How a node will be recorded for inputs of these dtypes: "native" or "composed"."""
    dtypes = [x.dtype if isinstance(x, Tensor) else None for x in inputs]
    if not any(dtypes):  # nothing to choose a kernel by
        return "native" if xp.kernels.has_node(node.operator) else "composed"
    return "native" if is_native(xp, node.operator, dtypes, training) else "composed"


def _fits(types: dict[str, list[str]], pairs: Sequence[tuple[Any, str]]) -> bool:
    """Whether a kernel for these types, by ONNX's names of them, takes inputs of these dtypes."""
    bound = [
        (types[formal.type_str], dtype)
        for formal, dtype in pairs
        if formal.type_str in types
    ]
    return all(_runs_on(dtype) & {*names} for names, dtype in bound)


def _runs_on(dtype: str) -> set[str]:
    """The types of kernels for a dtype: where needed, ONNX Runtime makes float16 float itself."""
    own = {type_name(dtype)}
    return own | {"tensor(float)"} if dtype == "float16" else own


@cache
def _kernel_types(operator: str) -> list[dict[str, list[str]]]:
    """For every kernel on the CPU, the types of its inputs and outputs by the names that ONNX gives them."""
    import onnxruntime  # type: ignore[import-untyped]

    since = onnx.defs.get_schema(operator, OPSET).since_version
    kernels: Callable = onnxruntime.capi.onnxruntime_pybind11_state.get_all_opkernel_def
    return [
        k.type_constraints
        for k in kernels()
        if (k.op_name, k.domain, k.provider) == (operator, "", "CPUExecutionProvider")
        and k.version_range[0] <= since <= k.version_range[1]
    ]
