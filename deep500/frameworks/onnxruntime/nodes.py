"""An operator as the ONNX node of its name: ONNX Runtime's native kernel, the same way for every operator."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
import spox
from onnx import helper, numpy_helper

from ...contracts.operator import Operator, Tensor
from ...errors import Unsupported
from . import FRAMEWORK
from .recorded import OPSET, Recorded

RECURRENT = dict.fromkeys(
    ("RNN", "LSTM", "GRU"), lambda given: not given["hidden_size"] or given["layout"] == 1
)
# Settings that ONNX Runtime has no kernels for.
REFUSED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "LRN": lambda given: given["size"] % 2 == 0,
    **RECURRENT,
}


def has_node(operator: Operator) -> bool:
    """Whether ONNX defines this operator with these attributes; random operators are always ours."""
    ours = operator.domain != "" or operator.random
    name = type(operator).__name__
    if name in REFUSED and REFUSED[name](operator.settings):
        return False
    if ours or not onnx.defs.has(name, OPSET):
        return False
    schema = onnx.defs.get_schema(name, OPSET)
    return not schema.deprecated and _fields(operator).keys() <= schema.attributes.keys()


def has_kernel(operator: Operator, dtypes: Sequence[str | None]) -> bool:
    """Whether ONNX Runtime has a kernel for inputs of these dtypes (None: it is static, or left out)."""
    name = type(operator).__name__
    if not has_node(operator) or (
        name == "Mod" and not operator.settings["fmod"] and "float" in str(dtypes[0])
    ):
        return False  # ONNX had no such Mod before opset 28
    formal = _formal(name)
    given = [
        (formal[min(i, len(formal) - 1)], dtype)
        for i, dtype in enumerate(dtypes)
        if dtype is not None
    ]
    standard = all(_written(dtype) in kind.types for kind, dtype in given)
    return (
        bool(given)
        and standard
        and any(
            all(
                _runs_on(dtype) & {*types[kind.type_str]}
                for kind, dtype in given
                if kind.type_str in types
            )
            for types in _kernel_types(name)
        )
    )


def node_or(formula: Callable[..., tuple], operator: Operator, inputs: Sequence[Any]) -> tuple:
    """The operator itself where it has a kernel for these inputs, or else its formula."""
    dtypes = [x.dtype.name if isinstance(x, Recorded) else None for x in inputs]
    static = all(dtype is None for dtype in dtypes)  # nothing to choose a kernel by
    return node(operator, inputs) if static or has_kernel(operator, dtypes) else formula(*inputs)


def _written(dtype: str) -> str:
    """A dtype as ONNX writes it."""
    return f"tensor({ ({'float32': 'float', 'float64': 'double'}.get(dtype) or dtype.replace('_', '')) })"


def _runs_on(dtype: str) -> set[str]:
    """The types of kernels for a dtype: where needed, ONNX Runtime makes float16 float itself."""
    return {_written(dtype), *(["tensor(float)"] if dtype == "float16" else [])}


@cache
def _formal(operator: str) -> list[Any]:
    """What ONNX says about the inputs; the last may stand for many."""
    return list(onnx.defs.get_schema(operator, OPSET).inputs)


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


def node(
    operator: Operator, inputs: Sequence[Any], outputs: int | None = None
) -> tuple[Recorded, ...]:
    """Emit the operator itself; `outputs` says how many results are asked for (all that it has by default).

    A model of one node, inlined: spox's own constructors always ask for every output, which ONNX forbids in places.
    """
    if not has_node(operator):
        raise Unsupported(
            f"ONNX opset {OPSET} has no operator {type(operator).__name__}, or not with these settings: "
            "use the formula instead"
        )
    count = (
        _count(operator, inputs)
        if operator.variadic
        else min(outputs or len(operator.outputs), _allowed(operator))
    )
    arguments = {f"i{k}": x for k, x in enumerate(inputs) if isinstance(x, Recorded)}
    dtypes = _static_dtypes(operator, inputs)
    statics = {
        f"i{k}": _static(x, dtypes.get(k))
        for k, x in enumerate(inputs)
        if x is not None and not isinstance(x, Recorded)
    }
    names = [f"i{k}" if x is not None else "" for k, x in enumerate(inputs)]
    while names and not names[-1]:  # ONNX Runtime takes an empty name at the end for an input
        names.pop()
    model = spox.inline(_model(operator, names, arguments, statics, count))
    made = model(**{name: x.var for name, x in arguments.items()})
    results = tuple(Recorded(made[f"o{k}"]) for k in range(count))
    for y in results:
        FRAMEWORK.dtype(y.dtype.name)
    return results


def _model(
    operator: Operator,
    names: list[str],
    arguments: dict[str, Recorded],
    statics: dict[str, np.ndarray],
    count: int,
) -> onnx.ModelProto:
    made = [f"o{k}" for k in range(count)]
    proto = helper.make_node(type(operator).__name__, names, made)
    proto.attribute.extend(_attributes(operator))
    graph = helper.make_graph(
        [proto],
        "node",
        [_info(name, x) for name, x in arguments.items()],
        [onnx.ValueInfoProto(name=n) for n in made],
        [numpy_helper.from_array(value, name) for name, value in statics.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def _attributes(operator: Operator) -> list[onnx.AttributeProto]:
    """The operator's fields in the types that ONNX wants."""
    known = onnx.defs.get_schema(type(operator).__name__, OPSET).attributes
    return [
        helper.make_attribute(name, _typed(value, known[name].type))
        for name, value in _fields(operator).items()
    ]


def _fields(operator: Operator) -> dict[str, Any]:
    """The fields to be written: without those that a later ONNX brought, where they say nothing new."""
    known = onnx.defs.get_schema(type(operator).__name__, OPSET).attributes
    defaults = {f.name: f.default for f in dataclasses.fields(operator)}
    return {
        name: value
        for name, value in operator.settings.items()
        if value is not None and (name in known or value != defaults[name])
    }


def _typed(value: Any, kind: Any) -> Any:
    if kind == onnx.defs.OpSchema.AttrType.FLOAT:
        return float(value)
    if kind == onnx.defs.OpSchema.AttrType.TENSOR:
        return numpy_helper.from_array(np.reshape(value, (1,)))
    return [float(v) for v in value] if kind == onnx.defs.OpSchema.AttrType.FLOATS else value


def _info(name: str, x: Recorded) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


def _static_dtypes(operator: Operator, inputs: Sequence[Any]) -> dict[int, np.dtype]:
    """The dtypes of static inputs that ONNX wants to be those of other inputs."""
    formal = [kind.type_str for kind in _formal(type(operator).__name__)]
    places = [(min(i, len(formal) - 1), i, x) for i, x in enumerate(inputs)]
    known = {formal[at]: x.dtype for at, _, x in places if isinstance(x, Recorded)}
    return {i: known[formal[at]] for at, i, _ in places if formal[at] in known}


def _static(value: Any, dtype: np.dtype | None) -> np.ndarray:
    """Python's numbers as ONNX takes them: of another input's dtype, or int64, float32 and bool."""
    if dtype is not None or isinstance(value, np.generic):
        return np.asarray(value, dtype)
    array = np.asarray(value, np.int64 if np.size(value) == 0 else None)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def _count(operator: Operator, inputs: Sequence[Any]) -> int:
    kinds = [Tensor(x.shape, x.dtype.name) if isinstance(x, Recorded) else x for x in inputs]
    return len(operator.infer(*kinds))


def _allowed(operator: Operator) -> int:
    """ONNX gives the running statistics of BatchNormalization in training mode only."""
    frozen = type(operator).__name__ == "BatchNormalization" and not operator.settings.get(
        "training_mode"
    )
    return 1 if frozen else len(operator.outputs)
