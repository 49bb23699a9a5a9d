"""An operator as the ONNX node of its name, the same way for every operator, or as its formula."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import spox
from onnx import helper, numpy_helper

from ...contracts.operator import Operator, Tensor
from ...contracts.rounding import rounded_once
from ...errors import Unsupported
from .arrays import Recorded
from .kernels import OPSET, fields, formal_input
from .namespace import Recorder


def formula(xp: Recorder, operator: Operator) -> Callable[..., tuple]:
    """Our formula over recorded values; dtypes that the engine has hardly a kernel for go by float32."""
    narrow = xp.kernels.by_float32

    def run(*inputs: Any) -> tuple:
        return operator.run(xp, *inputs)

    def recorded(*inputs: Any) -> tuple:
        if any(isinstance(x, Recorded) and x.dtype.name in narrow for x in inputs):
            return rounded_once(xp, operator, run, inputs, narrow)
        return run(*inputs)

    return recorded


def node_or_formula(xp: Recorder, operator: Operator, inputs: Sequence[Any]) -> tuple:
    """The operator itself where it has a kernel for these inputs, or else its formula."""
    dtypes = dtypes_of(inputs)
    static = all(dtype is None for dtype in dtypes)  # nothing to choose a kernel by
    if static or xp.kernels.has_kernel(operator, dtypes):
        return node(xp, operator, inputs)
    return formula(xp, operator)(*inputs)


def dtypes_of(inputs: Sequence[Any]) -> list[str | None]:
    """The dtype of every recorded input; None for the others."""
    return [x.dtype.name if isinstance(x, Recorded) else None for x in inputs]


def specs_of(inputs: Sequence[Any]) -> list[Any]:
    """The recorded inputs as shapes and dtypes, the others as they are."""
    return [
        Tensor(x.shape, x.dtype.name) if isinstance(x, Recorded) else x for x in inputs
    ]


def node(
    xp: Recorder, operator: Operator, inputs: Sequence[Any], outputs: int | None = None
) -> tuple[Recorded, ...]:
    """Emit the operator itself; `outputs` says how many results are asked for (all that it has by default).

    A model of one node, inlined: spox's own constructors always ask for every output, which ONNX forbids in places.
    """
    if not xp.kernels.has_node(operator):
        raise Unsupported(
            f"ONNX opset {OPSET} has no operator {type(operator).__name__}, or not with these settings: "
            "use the formula instead"
        )
    dtypes = _static_dtypes(operator, inputs)
    arguments: dict[str, Recorded] = {}
    constants: dict[str, np.ndarray] = {}
    for k, value in enumerate(inputs):
        if isinstance(value, Recorded):
            arguments[f"i{k}"] = value
        elif value is not None:
            constants[f"i{k}"] = _constant(value, dtypes.get(k))
    names = [f"i{k}" if value is not None else "" for k, value in enumerate(inputs)]
    while names and not names[-1]:  # an empty name at the end would count as an input
        names.pop()
    count = _output_count(operator, inputs, outputs)
    inline = spox.inline(_model(operator, names, arguments, constants, count))
    variables = inline(**{name: x.var for name, x in arguments.items()})
    results = tuple(Recorded(variables[f"o{k}"]) for k in range(count))
    for y in results:
        xp.kernels.dtype(y.dtype.name)
    return results


def _output_count(operator: Operator, inputs: Sequence[Any], wanted: int | None) -> int:
    """How many outputs the node has, of those that are wanted (all by default)."""
    if operator.variadic:
        return len(operator.infer(*specs_of(inputs)))
    is_norm = type(operator).__name__ == "BatchNormalization"
    if is_norm and not operator.settings.get("training_mode"):
        return 1  # ONNX gives the running statistics in training mode only
    return min(wanted or len(operator.outputs), len(operator.outputs))


def _model(
    operator: Operator,
    names: list[str],
    arguments: dict[str, Recorded],
    constants: dict[str, np.ndarray],
    count: int,
) -> onnx.ModelProto:
    outputs = [f"o{k}" for k in range(count)]
    proto = helper.make_node(type(operator).__name__, names, outputs)
    proto.attribute.extend(_attributes(operator))
    graph = helper.make_graph(
        [proto],
        "node",
        [_info(name, x) for name, x in arguments.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10
    )
    return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def _attributes(operator: Operator) -> list[onnx.AttributeProto]:
    """The operator's fields in the types that ONNX wants."""
    known = onnx.defs.get_schema(type(operator).__name__, OPSET).attributes
    return [
        helper.make_attribute(name, _typed(value, known[name].type))
        for name, value in fields(operator).items()
    ]


def _typed(value: Any, kind: Any) -> Any:
    types = onnx.defs.OpSchema.AttrType
    if kind == types.FLOAT:
        return float(value)
    if kind == types.FLOATS:
        return [float(v) for v in value]
    if kind == types.TENSOR:
        return numpy_helper.from_array(np.reshape(value, (1,)))
    return value


def _info(name: str, x: Recorded) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
    )


def _static_dtypes(operator: Operator, inputs: Sequence[Any]) -> dict[int, np.dtype]:
    """The dtypes of static inputs that ONNX wants to be those of other inputs, by the places of the inputs."""
    name = type(operator).__name__
    types = [formal_input(name, i).type_str for i in range(len(inputs))]
    dtypes: dict[str, np.dtype] = {}
    for type_name, value in zip(types, inputs, strict=True):
        if isinstance(value, Recorded):
            dtypes[type_name] = value.dtype
    return {
        i: dtypes[type_name] for i, type_name in enumerate(types) if type_name in dtypes
    }


def _constant(value: Any, dtype: np.dtype | None) -> np.ndarray:
    """Python's numbers as ONNX takes them: of another input's dtype, or int64, float32 and bool."""
    if dtype is not None or isinstance(value, np.generic):
        return np.asarray(value, dtype)
    array = np.asarray(value, np.int64 if np.size(value) == 0 else None)
    return array.astype(np.float32) if array.dtype.kind == "f" else array
