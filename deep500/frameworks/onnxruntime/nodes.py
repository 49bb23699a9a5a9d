"""An operator as the ONNX node of its name: ONNX Runtime's native kernel, the same way for every operator."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import spox
from onnx import helper, numpy_helper

from ...contracts.operator import Operator, Tensor
from ...errors import Unsupported
from .recorded import OPSET, Recorded


def has_node(operator: Operator) -> bool:
    """Whether ONNX itself defines this operator."""
    return operator.domain == "" and onnx.defs.has(type(operator).__name__, max_inclusive_version=OPSET)


def node(operator: Operator, inputs: Sequence[Any], outputs: int | None = None) -> tuple[Recorded, ...]:
    """Emit the operator itself; `outputs` says how many results are asked for (all that it has by default).

    A model of one node, inlined: spox's own constructors always ask for every output, which ONNX forbids in places.
    """
    if not has_node(operator):
        raise Unsupported(f"ONNX opset {OPSET} has no operator {type(operator).__name__}: use the formula instead")
    count = _count(operator, inputs) if operator.variadic else min(outputs or len(operator.outputs), _allowed(operator))
    arguments = {f"i{k}": x for k, x in enumerate(inputs) if isinstance(x, Recorded)}
    statics = {f"i{k}": x for k, x in enumerate(inputs) if x is not None and not isinstance(x, Recorded)}
    names = [f"i{k}" if x is not None else "" for k, x in enumerate(inputs)]
    while names and not names[-1]:  # ONNX Runtime takes an empty name at the end for an input
        names.pop()
    model = spox.inline(_model(operator, names, arguments, statics, count))
    made = model(**{name: x.var for name, x in arguments.items()})
    return tuple(Recorded(made[f"o{k}"]) for k in range(count))


def _model(operator: Operator, names: list[str], arguments: dict[str, Recorded], statics: dict[str, Any],
           count: int) -> onnx.ModelProto:
    made = [f"o{k}" for k in range(count)]
    proto = helper.make_node(type(operator).__name__, names, made)
    proto.attribute.extend(_attributes(operator))
    graph = helper.make_graph(
        [proto], "node", [_info(name, x) for name, x in arguments.items()], [onnx.ValueInfoProto(name=n) for n in made],
        [numpy_helper.from_array(_static(value), name) for name, value in statics.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def _attributes(operator: Operator) -> list[onnx.AttributeProto]:
    """The operator's fields in the types that ONNX wants."""
    known = onnx.defs.get_schema(type(operator).__name__, OPSET).attributes
    fields = {name: value for name, value in operator.settings.items() if value is not None}
    if strange := fields.keys() - known.keys():
        raise Unsupported(f"ONNX's {type(operator).__name__} has no attribute {', '.join(sorted(strange))}; "
                          f"it has {', '.join(sorted(known))}")
    return [helper.make_attribute(name, _typed(value, known[name].type)) for name, value in fields.items()]


def _typed(value: Any, kind: Any) -> Any:
    if kind == onnx.defs.OpSchema.AttrType.FLOAT:
        return float(value)
    if kind == onnx.defs.OpSchema.AttrType.TENSOR:
        return numpy_helper.from_array(np.reshape(value, (1,)))
    return [float(v) for v in value] if kind == onnx.defs.OpSchema.AttrType.FLOATS else value


def _info(name: str, x: Recorded) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)


def _static(value: Any) -> np.ndarray:
    """Python's numbers as ONNX takes them: int64, float32 and bool."""
    array = np.asarray(value, np.int64 if np.size(value) == 0 else None)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def _count(operator: Operator, inputs: Sequence[Any]) -> int:
    kinds = [Tensor(x.shape, x.dtype.name) if isinstance(x, Recorded) else x for x in inputs]
    return len(operator.infer(*kinds))


def _allowed(operator: Operator) -> int:
    """ONNX gives the running statistics of BatchNormalization in training mode only."""
    frozen = type(operator).__name__ == "BatchNormalization" and not operator.settings.get("training_mode")
    return 1 if frozen else len(operator.outputs)
