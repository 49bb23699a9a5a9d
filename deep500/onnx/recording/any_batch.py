"""One recorded graph for any size of the named dimensions, made of recordings at several sizes.

Recordings for different sizes are the same graph with other constants in it: shapes, counts, divisors. Each such
constant becomes a small computation from the shapes of the inputs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...contracts.operator import Tensor
from ...errors import Unsupported
from .size_formulas import Formula, Plan, fitted

Record = Callable[[dict[str, int]], onnx.ModelProto]  # the model for these sizes
SIZE = "deep500:size:"  # what begins the name of a value that is a dimension's size
REST = -1  # what Reshape works out by itself


def any_size_model(record: Record, inputs: Mapping[str, Tensor]) -> onnx.ModelProto:
    """The model for any size of the dimensions that the inputs name.

    Raises `Unsupported` if recordings at other sizes have other nodes, or constants that follow no formula.
    """
    places = _places(inputs)
    plan = Plan(tuple(places))
    models = [
        record(dict(zip(plan.names, point, strict=True))) for point in plan.points
    ]
    if not places:
        return models[0]
    merged = _Merged(plan, models[0], places)
    graphs = [model.graph for model in models]
    merged.merge(graphs)
    for value in graphs[0].output:
        _forget_sizes(value)
    for value in graphs[0].input:
        if value.name in inputs:
            _name_dimensions(value, inputs[value.name].shape)
    model = onnx.shape_inference.infer_shapes(merged.finished())
    onnx.checker.check_model(model, full_check=True)
    return model


def _places(inputs: Mapping[str, Tensor]) -> dict[str, tuple[str, int]]:
    """For every named dimension an input and an axis of it that has this size."""
    places: dict[str, tuple[str, int]] = {}
    for name, tensor in inputs.items():
        for axis, size in enumerate(tensor.shape):
            if isinstance(size, str):
                places.setdefault(size, (name, axis))
    return places


@dataclass
class _Merged:
    """The first of several recordings, in which constants that differ are computed."""

    plan: Plan
    model: onnx.ModelProto
    places: Mapping[str, tuple[str, int]]
    nodes: list[onnx.NodeProto] = field(default_factory=list)  # that compute sizes
    _sizes: set[str] = field(default_factory=set)
    _count: int = 0

    def finished(self) -> onnx.ModelProto:
        """With the computations in front of everything."""
        rest = [*self.model.graph.node]
        del self.model.graph.node[:]
        self.model.graph.node.extend([*self.nodes, *rest])
        del self.model.graph.value_info[:]
        return self.model

    def merge(self, graphs: Sequence[onnx.GraphProto]) -> None:
        """Make the first graph right for any size; the others say how it depends on them."""
        if len({len(graph.node) for graph in graphs}) > 1:
            raise Unsupported(
                "the backward pass has other nodes for other sizes: give batch="
            )
        reshapes = _only_for_reshape(graphs[0])
        kept = []
        for nodes in zip(*(graph.node for graph in graphs), strict=True):
            if nodes[0].op_type == "Constant" and any(
                node != nodes[0] for node in nodes
            ):
                if self._constant(nodes, nodes[0].output[0] in reshapes):
                    kept.append(nodes[0])
            else:
                self._merge_node(nodes)
                kept.append(nodes[0])
        del graphs[0].node[:]
        graphs[0].node.extend(kept)
        self._merge_initializers(graphs)

    def _merge_initializers(self, graphs: Sequence[onnx.GraphProto]) -> None:
        kept = []
        for tensors in zip(*(graph.initializer for graph in graphs), strict=True):
            if all(tensor == tensors[0] for tensor in tensors):
                kept.append(tensors[0])
            else:
                values = [numpy_helper.to_array(tensor) for tensor in tensors]
                self._compute(tensors[0].name, values)
        del graphs[0].initializer[:]
        graphs[0].initializer.extend(kept)

    def _merge_node(self, nodes: Sequence[onnx.NodeProto]) -> None:
        first = nodes[0]
        for other in nodes[1:]:
            alike = (other.op_type, other.domain, other.input, other.output)
            if alike != (first.op_type, first.domain, first.input, first.output):
                raise Unsupported(
                    "the backward pass has other nodes for other sizes: give batch="
                )
        for attributes in zip(*(node.attribute for node in nodes), strict=True):
            if attributes[0].type == onnx.AttributeProto.GRAPH:
                bodies = [attribute.g for attribute in attributes]
                for value in (*bodies[0].input, *bodies[0].output):
                    _forget_sizes(value)
                del bodies[0].value_info[:]
                self.merge(bodies)
            elif any(attribute != attributes[0] for attribute in attributes):
                raise Unsupported(
                    f"{attributes[0].name!r} of a {first.op_type} of the backward pass depends on the "
                    "size of the batch, and an attribute is fixed: give batch="
                )

    def _constant(self, nodes: Sequence[onnx.NodeProto], for_reshape: bool) -> bool:
        """Replace a constant; says whether it stays a node of its graph."""
        values = [numpy_helper.to_array(node.attribute[0].t) for node in nodes]
        if for_reshape and (shape := _with_rest(values)) is not None:
            nodes[0].attribute[0].t.CopyFrom(numpy_helper.from_array(shape))
            return True
        self._compute(nodes[0].output[0], values)
        return False

    def _compute(self, name: str, values: Sequence[np.ndarray]) -> None:
        """Nodes that give the constant of this name, whose values at the plan's points these are."""
        if len({value.shape for value in values}) == 1:
            self._evaluate(name, values)
        elif all(_is_count_up(value) for value in values):
            self._range(name, values)
        elif all(value.size and np.all(value == values[0].flat[0]) for value in values):
            shape = self._shape(name, values)
            self._node(
                "Expand", [self._new_constant(values[0].reshape(-1)[:1]), shape], name
            )
        else:
            raise Unsupported(
                "a table in the backward pass depends on the size of the batch: give batch="
            )

    def _shape(self, name: str, values: Sequence[np.ndarray]) -> str:
        shapes = [np.array(value.shape, np.int64) for value in values]
        self._evaluate(f"{name}:shape", shapes)
        return f"{name}:shape"

    def _range(self, name: str, values: Sequence[np.ndarray]) -> None:
        length = self._shape(name, values)
        stop = self._node("Squeeze", [length], f"{name}:stop")
        start, step = (self._new_constant(np.array(n, np.int64)) for n in (0, 1))
        numbers = self._node("Range", [start, stop, step], f"{name}:numbers")
        self._cast(numbers, values[0].dtype, name)

    def _evaluate(self, name: str, values: Sequence[np.ndarray]) -> None:
        """A constant of fixed shape, by the formula of its elements."""
        formula = fitted(self.plan, values)
        if formula is None:
            raise Unsupported(
                "a number in the backward pass follows the size of the batch by no simple formula: "
                "give batch="
            )
        dtype = np.dtype(np.int64 if values[0].dtype.kind in "iu" else np.float64)
        total = self._new_constant(np.asarray(formula.constant, dtype))
        for names, coefficient in formula.terms.items():
            factor = self._factor(names, dtype, formula)
            weight = self._new_constant(np.asarray(coefficient, dtype))
            term = self._node("Mul", [weight, factor])
            total = self._node("Add", [total, term])
        shape = self._new_constant(np.array(values[0].shape, np.int64))
        shaped = self._node("Reshape", [total, shape])
        self._cast(shaped, values[0].dtype, name)

    def _factor(self, names: Sequence[str], dtype: np.dtype, formula: Formula) -> str:
        """The product of these sizes, or its reciprocal, as an array of one."""
        total = self._size(names[0])
        for name in names[1:]:
            total = self._node("Mul", [total, self._size(name)])
        if dtype.kind == "i":
            return total
        total = self._cast(total, dtype)
        return self._node("Reciprocal", [total]) if formula.reciprocal else total

    def _size(self, dimension: str) -> str:
        name = SIZE + dimension
        if name not in self._sizes:
            self._sizes.add(name)
            source, axis = self.places[dimension]
            self._node("Shape", [source], name, start=axis, end=axis + 1)
        return name

    def _cast(self, value: str, dtype: np.dtype, name: str | None = None) -> str:
        return self._node(
            "Cast", [value], name, to=helper.np_dtype_to_tensor_dtype(dtype)
        )

    def _new_constant(self, value: np.ndarray) -> str:
        return self._node("Constant", [], value=numpy_helper.from_array(value))

    def _node(
        self,
        kind: str,
        inputs: Sequence[str],
        output: str | None = None,
        **attributes: Any,
    ) -> str:
        self._count += 1
        output = output or f"{SIZE}{self._count}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output


def _only_for_reshape(graph: onnx.GraphProto) -> set[str]:
    """Values that are nothing but the shapes of Reshapes in this graph."""
    shapes: set[str] = set()
    others = {output.name for output in graph.output}
    for node in graph.node:
        is_reshape = node.op_type == "Reshape"
        for place, name in enumerate(node.input):
            (shapes if is_reshape and place == 1 else others).add(name)
        for attribute in node.attribute:
            others |= _names_in(attribute.g)
    return shapes - others


def _names_in(graph: onnx.GraphProto) -> set[str]:
    names = {output.name for output in graph.output}
    for node in graph.node:
        names |= {*node.input}
        for attribute in node.attribute:
            names |= _names_in(attribute.g)
    return names


def _with_rest(values: Sequence[np.ndarray]) -> np.ndarray | None:
    """A shape in which one dimension depends on sizes, left for Reshape to work out; None if several do."""
    differs = np.any([value != values[0] for value in values], axis=0)
    if np.count_nonzero(differs) != 1 or 0 in values[0]:
        return None
    return np.where(differs, REST, values[0])


def _is_count_up(value: np.ndarray) -> bool:
    return value.ndim == 1 and np.array_equal(value, np.arange(len(value)))


def _forget_sizes(value: onnx.ValueInfoProto) -> None:
    """Leave the rank and the dtype alone: shape inference finds the sizes that are known."""
    for dimension in value.type.tensor_type.shape.dim:
        dimension.ClearField("dim_value")


def _name_dimensions(value: onnx.ValueInfoProto, shape: Sequence[int | str]) -> None:
    for dimension, size in zip(value.type.tensor_type.shape.dim, shape, strict=True):
        if isinstance(size, str):
            dimension.dim_param = size
        else:
            dimension.dim_value = size
