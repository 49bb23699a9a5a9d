"""An example as a model of one ONNX node: what other engines make of it owes nothing to our formulas."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from deep500.contracts.operator import Operator

from .checking import XP, Example

OPSET = 21


def model_of(example: Example) -> onnx.ModelProto:
    """The node alone, with static inputs as constants."""
    operator, made = example.operator, node_outputs(example)
    names = ["" if x is None else f"i{k}" for k, x in enumerate(example.inputs)]
    # ONNX Runtime takes an empty name at the end for an input
    while names and not names[-1]:
        names.pop()
    fields = {
        name: numpy_helper.from_array(value.reshape(1))
        if isinstance(value, np.generic)
        else value
        for name, value in operator.settings.items()
        if value is not None and name in _attributes(operator)
    }
    node = helper.make_node(
        type(operator).__name__,
        names,
        [n for n, _ in made],
        domain=operator.domain,
        **fields,
    )
    constants = [
        numpy_helper.from_array(_static(x), f"i{k}")
        for k, x in enumerate(example.inputs)
        if x is not None and not isinstance(x, np.ndarray)
    ]
    opsets = [
        helper.make_opsetid(domain, max(OPSET, operator.since) if not domain else 1)
        for domain in {"", operator.domain}
    ]
    graph = helper.make_graph(
        [node],
        "node",
        [_info(n, x) for n, x in feeds(example).items()],
        [_info(n, y) for n, y in made if n],
        constants,
    )
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def feeds(example: Example) -> dict[str, np.ndarray]:
    return {
        f"i{k}": x for k, x in enumerate(example.inputs) if isinstance(x, np.ndarray)
    }


def node_outputs(example: Example) -> list[tuple[str, np.ndarray]]:
    """Name and value of every output to ask for: not of those that only hand an input on, which ONNX may not have."""
    results = example.operator.published(example.operator.run(XP, *example.inputs))
    asked = [
        k == 0 or not any(y is x for x in example.inputs) for k, y in enumerate(results)
    ]
    return [(f"o{k}", np.asarray(y)) for k, y in enumerate(results) if asked[k]]


def _attributes(operator: Operator) -> set[str]:
    """Those that ONNX knows at this opset; what it does not know has its default in every case."""
    name, version = (
        type(operator).__name__,
        1 if operator.domain else max(OPSET, operator.since),
    )
    return {*onnx.defs.get_schema(name, version, operator.domain).attributes}


def _static(value: object) -> np.ndarray:
    array = np.asarray(value)
    if isinstance(value, np.generic):
        return array
    return array.astype(
        "float32" if array.dtype.kind == "f" and array.size else "int64"
    )


def _info(name: str, x: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
    )
