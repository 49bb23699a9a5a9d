"""Records an operator as the ONNX node of its name, or as its formula."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import spox
from onnx import helper, numpy_helper

from ...contracts.operator import Operator, TensorSpec
from ...errors import Unsupported
from ...graph.rounding import rounded_once
from .arrays import Recorded
from .kernels import OPSET, fields, formal_input
from .namespace import OnnxRecorder


def formula(xp: OnnxRecorder, operator: Operator) -> Callable[..., tuple]:
    """A function that records the operator's formula; dtypes with few kernels on the engine are computed in float32."""
    narrow = xp.kernels.by_float32

    def run(*inputs: Any) -> tuple:
        return operator.run(xp, *inputs)

    def recorded(*inputs: Any) -> tuple:
        if any(dtype in narrow for dtype in dtypes_of(inputs)):
            return rounded_once(xp, operator, run, inputs, narrow)
        return run(*inputs)

    return recorded


def node_or_formula(
    xp: OnnxRecorder, operator: Operator, inputs: Sequence[Any]
) -> tuple:
    """Record the operator itself if it has a kernel for these inputs, or else its formula."""
    dtypes = dtypes_of(inputs)
    # nothing to choose a kernel by
    static = all(dtype is None for dtype in dtypes)
    if static or xp.kernels.has_kernel(operator, dtypes):
        return node(xp, operator, inputs)
    return formula(xp, operator)(*inputs)


def dtypes_of(inputs: Sequence[Any]) -> list[str | None]:
    """The dtype of every recorded input; None for the others."""
    dtypes: list[str | None] = []
    for value in inputs:
        dtype = None
        if isinstance(value, Recorded):
            dtype = value.dtype.name
        dtypes.append(dtype)
    return dtypes


def specs_of(inputs: Sequence[Any]) -> list[Any]:
    """The recorded inputs as shapes and dtypes, the others as they are."""
    specs: list[Any] = []
    for value in inputs:
        if isinstance(value, Recorded):
            value = TensorSpec(value.shape, value.dtype.name)
        specs.append(value)
    return specs


def node(
    xp: OnnxRecorder,
    operator: Operator,
    inputs: Sequence[Any],
    outputs: int | None = None,
) -> tuple[Recorded, ...]:
    """Record the operator itself with this number of outputs (by default all); returns them.

    It is a model of one node, inlined: spox's own constructors always have every output, which ONNX sometimes forbids.
    """
    if not xp.kernels.has_node(operator):
        raise Unsupported(
            f"ONNX opset {OPSET} has no operator {type(operator).__name__}, or not with these settings: "
            "use the formula instead"
        )
    _check_static_values(operator, inputs)
    dtypes = _static_dtypes(operator, inputs)
    names: list[str] = []
    arguments: dict[str, Recorded] = {}
    constants: dict[str, np.ndarray] = {}
    for k, value in enumerate(inputs):
        name = f"i{k}"
        if isinstance(value, Recorded):
            arguments[name] = value
        elif value is not None:
            constants[name] = _constant(value, dtypes.get(k))
        else:
            name = ""
        names.append(name)
    # an empty name at the end would count as an input
    while names and not names[-1]:
        names.pop()
    count = _output_count(operator, inputs, outputs)
    model = _model(operator, names, arguments, constants, count)
    argument_vars = {name: x.var for name, x in arguments.items()}
    result_vars = spox.inline(model)(**argument_vars)
    results = []
    for k in range(count):
        results.append(Recorded(result_vars[f"o{k}"]))
    for result in results:
        xp.kernels.dtype(result.dtype.name)  # raises if the engine lacks it
    return tuple(results)


def _check_static_values(operator: Operator, inputs: Sequence[Any]) -> None:
    """Raise the ValueError of our own shape inference: an engine may divide by a frame length of 0, and end."""
    if not operator.static:
        return
    specs = specs_of(inputs)
    for spec in specs:
        if isinstance(spec, TensorSpec) and None in spec.shape:
            return  # it cannot be told before the run
    try:
        operator.infer(*specs)
    except ValueError:
        raise
    except Exception:  # what only a run can tell
        return


def _output_count(
    operator: Operator, inputs: Sequence[Any], requested: int | None
) -> int:
    """How many outputs the node gets if so many are requested (all by default)."""
    if operator.variadic:
        return len(operator.infer(*specs_of(inputs)))
    is_norm = type(operator).__name__ == "BatchNormalization"
    if is_norm and not operator.settings.get("training_mode"):
        return 1  # ONNX gives the running statistics in training mode only
    most = len(operator.outputs)
    return min(requested or most, most)


def _model(
    operator: Operator,
    names: list[str],
    arguments: dict[str, Recorded],
    constants: dict[str, np.ndarray],
    count: int,
) -> onnx.ModelProto:
    """A model of one node, with its results named "o0", "o1", …"""
    output_names = [f"o{k}" for k in range(count)]
    proto = helper.make_node(type(operator).__name__, names, output_names)
    proto.attribute.extend(_attributes(operator))
    inputs = [_info(name, x) for name, x in arguments.items()]
    outputs = [onnx.ValueInfoProto(name=name) for name in output_names]
    initializers = []
    for name, value in constants.items():
        initializers.append(numpy_helper.from_array(value, name))
    graph = helper.make_graph([proto], "node", inputs, outputs, initializers)
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def _attributes(operator: Operator) -> list[onnx.AttributeProto]:
    """The operator's fields in the types that ONNX's schema has."""
    schema = onnx.defs.get_schema(type(operator).__name__, OPSET)
    attributes = []
    for name, value in fields(operator).items():
        typed = _typed(value, schema.attributes[name].type)
        attributes.append(helper.make_attribute(name, typed))
    return attributes


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
    element_type = helper.np_dtype_to_tensor_dtype(x.dtype)
    return helper.make_tensor_value_info(name, element_type, x.shape)


def _static_dtypes(operator: Operator, inputs: Sequence[Any]) -> dict[int, np.dtype]:
    """The dtypes of static inputs that ONNX requires to be those of other inputs, by position."""
    name = type(operator).__name__
    dtypes: dict[str, np.dtype] = {}  # by the type variable of the schema
    for position, value in enumerate(inputs):
        if isinstance(value, Recorded):
            type_variable = formal_input(name, position).type_str
            dtypes[type_variable] = value.dtype
    static_dtypes = {}
    for position in range(len(inputs)):
        type_variable = formal_input(name, position).type_str
        if type_variable in dtypes:
            static_dtypes[position] = dtypes[type_variable]
    return static_dtypes


def _constant(value: Any, dtype: np.dtype | None) -> np.ndarray:
    """Python numbers as an array: of another input's dtype, or else of int64, float32 or bool."""
    if dtype is not None or isinstance(value, np.generic):
        return np.asarray(value, dtype)
    if np.size(value) == 0:
        return np.asarray(value, np.int64)
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    return array
