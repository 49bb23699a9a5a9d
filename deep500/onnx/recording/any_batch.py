"""Merges graphs recorded at several sizes of the named dimensions into one graph for any size.

Recordings at different sizes are the same graph with different constants: shapes, counts, divisors. Each such constant
is replaced by nodes that compute it from the shapes of the inputs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...contracts.operator import TensorSpec
from ...errors import Unsupported
from .size_formulas import SizeFormula, SizePlan, fitted

# returns the model for these sizes
Record = Callable[[dict[str, int]], onnx.ModelProto]
SIZE = "deep500:size:"  # prefix of the names of values that are sizes of dimensions
INFERRED = -1  # a size that Reshape works out by itself
OTHER_NODES = "the backward pass has other nodes for other sizes: give batch="


def any_size_model(record: Record, inputs: Mapping[str, TensorSpec]) -> onnx.ModelProto:
    """The model for any size of the dimensions that the inputs name.

    Raises `Unsupported` if recordings at other sizes have other nodes, or constants that follow no formula.
    """
    sources = _dimension_sources(inputs)
    plan = SizePlan(tuple(sources))
    models = []
    for point in plan.points:
        sizes = dict(zip(plan.names, point, strict=True))
        models.append(record(sizes))
    if not sources:
        return models[0]
    merged = _Merged(plan, models[0], sources)
    graphs = [model.graph for model in models]
    merged.merge(graphs)
    first = graphs[0]
    for value in first.output:
        _forget_sizes(value)
    for value in first.input:
        if value.name in inputs:
            _name_dimensions(value, inputs[value.name].shape)
    model = onnx.shape_inference.infer_shapes(merged.finished())
    onnx.checker.check_model(model, full_check=True)
    return model


def _dimension_sources(
    inputs: Mapping[str, TensorSpec],
) -> dict[str, tuple[str, int]]:
    """For every named dimension an input and an axis of it that has this size."""
    sources: dict[str, tuple[str, int]] = {}
    for name, tensor in inputs.items():
        for axis, size in enumerate(tensor.shape):
            if isinstance(size, str):
                sources.setdefault(size, (name, axis))
    return sources


@dataclass
class _Merged:
    """The first of several recordings, in which the constants that differ are computed from sizes."""

    plan: SizePlan
    model: onnx.ModelProto
    sources: Mapping[str, tuple[str, int]]
    # the nodes that compute constants
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    _sizes: set[str] = field(default_factory=set)
    _count: int = 0

    def finished(self) -> onnx.ModelProto:
        """The model with the nodes that compute constants in front of all others."""
        graph = self.model.graph
        _replace_all(graph.node, [*self.nodes, *graph.node])
        del graph.value_info[:]
        return self.model

    def merge(self, graphs: Sequence[onnx.GraphProto]) -> None:
        """Make the first graph right for any size; the others say how it depends on them."""
        node_counts = {len(graph.node) for graph in graphs}
        if len(node_counts) > 1:
            raise Unsupported(OTHER_NODES)
        first_graph = graphs[0]
        reshape_shapes = _only_for_reshape(first_graph)
        remaining = []
        columns = [graph.node for graph in graphs]
        for nodes in zip(*columns, strict=True):
            first = nodes[0]
            if first.op_type != "Constant" or _are_equal(nodes):
                self._merge_node(nodes)
                remaining.append(first)
            elif self._merge_constant(nodes, first.output[0] in reshape_shapes):
                remaining.append(first)
        _replace_all(first_graph.node, remaining)
        self._merge_initializers(graphs)

    def _merge_initializers(self, graphs: Sequence[onnx.GraphProto]) -> None:
        remaining = []
        columns = [graph.initializer for graph in graphs]
        for tensors in zip(*columns, strict=True):
            first = tensors[0]
            if _are_equal(tensors):
                remaining.append(first)
            else:
                values = [*map(numpy_helper.to_array, tensors)]
                self._compute(first.name, values)
        _replace_all(graphs[0].initializer, remaining)

    def _merge_node(self, nodes: Sequence[onnx.NodeProto]) -> None:
        first = nodes[0]
        expected = (first.op_type, first.domain, first.input, first.output)
        for other in nodes[1:]:
            if (
                other.op_type,
                other.domain,
                other.input,
                other.output,
            ) != expected:
                raise Unsupported(OTHER_NODES)
        columns = [node.attribute for node in nodes]
        for attributes in zip(*columns, strict=True):
            first_attribute = attributes[0]
            if first_attribute.type == onnx.AttributeProto.GRAPH:
                bodies = [attribute.g for attribute in attributes]
                self._merge_bodies(bodies)
            elif not _are_equal(attributes):
                raise Unsupported(
                    f"{first_attribute.name!r} of a {first.op_type} of the backward pass depends on the "
                    "size of the batch, and an attribute is fixed: give batch="
                )

    def _merge_bodies(self, bodies: Sequence[onnx.GraphProto]) -> None:
        first = bodies[0]
        for value in (*first.input, *first.output):
            _forget_sizes(value)
        del first.value_info[:]
        self.merge(bodies)

    def _merge_constant(
        self, nodes: Sequence[onnx.NodeProto], for_reshape: bool
    ) -> bool:
        """Make a constant right for any size; returns whether it is still a Constant node of its graph."""
        tensors = [node.attribute[0].t for node in nodes]
        values = [*map(numpy_helper.to_array, tensors)]
        first = nodes[0]
        if for_reshape:
            shape = _with_inferred_size(values)
            if shape is not None:
                tensors[0].CopyFrom(numpy_helper.from_array(shape))
                return True
        self._compute(first.output[0], values)
        return False

    def _compute(self, name: str, values: Sequence[np.ndarray]) -> None:
        """Add nodes that compute the constant of this name, from its values at the plan's points."""
        first = values[0]
        if all(value.shape == first.shape for value in values):
            self._evaluate(name, values)
        elif all(_is_count_up(value) for value in values):
            self._range(name, values)
        elif _hold_one_number(values):
            shape = self._shape(name, values)
            elements = first.reshape(-1)
            number = self._new_constant(elements[:1])
            self._node("Expand", [number, shape], name)
        else:
            raise Unsupported(
                "a table in the backward pass depends on the size of the batch: give batch="
            )

    def _shape(self, name: str, values: Sequence[np.ndarray]) -> str:
        """Add nodes that compute the shape of a constant; returns its name."""
        shapes = [np.array(value.shape, np.int64) for value in values]
        shape_name = f"{name}:shape"
        self._evaluate(shape_name, shapes)
        return shape_name

    def _range(self, name: str, values: Sequence[np.ndarray]) -> None:
        """Add nodes that compute 0, 1, 2, …"""
        length = self._shape(name, values)
        stop = self._node("Squeeze", [length], f"{name}:stop")
        start = self._new_constant(np.array(0, np.int64))
        step = self._new_constant(np.array(1, np.int64))
        numbers = self._node("Range", [start, stop, step], f"{name}:numbers")
        self._cast(numbers, values[0].dtype, name)

    def _evaluate(self, name: str, values: Sequence[np.ndarray]) -> None:
        """Add nodes that compute a constant of fixed shape by a formula for its elements."""
        first = values[0]
        formula = fitted(self.plan, values)
        if formula is None:
            raise Unsupported(
                "a number in the backward pass follows the size of the batch by no simple formula: "
                "give batch="
            )
        is_integer = first.dtype.kind in "iu"
        dtype = np.dtype("int64" if is_integer else "float64")
        total = self._new_constant(np.asarray(formula.constant, dtype))
        for names, coefficient in formula.terms.items():
            factor = self._factor(names, dtype, formula)
            weight = self._new_constant(np.asarray(coefficient, dtype))
            term = self._node("Mul", [weight, factor])
            total = self._node("Add", [total, term])
        shape = self._new_constant(np.array(first.shape, np.int64))
        shaped = self._node("Reshape", [total, shape])
        self._cast(shaped, first.dtype, name)

    def _factor(
        self, names: Sequence[str], dtype: np.dtype, formula: SizeFormula
    ) -> str:
        """The product of these sizes, or its reciprocal, as an array of one."""
        total = self._size(names[0])
        for name in names[1:]:
            size = self._size(name)
            total = self._node("Mul", [total, size])
        if dtype.kind == "i":
            return total
        total = self._cast(total, dtype)
        if formula.reciprocal:
            return self._node("Reciprocal", [total])
        return total

    def _size(self, dimension: str) -> str:
        name = SIZE + dimension
        if name not in self._sizes:
            self._sizes.add(name)
            source, axis = self.sources[dimension]
            self._node("Shape", [source], name, start=axis, end=axis + 1)
        return name

    def _cast(self, value: str, dtype: np.dtype, name: str | None = None) -> str:
        element_type = helper.np_dtype_to_tensor_dtype(dtype)
        return self._node("Cast", [value], name, to=element_type)

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
        node = helper.make_node(kind, inputs, [output], **attributes)
        self.nodes.append(node)
        return output


def _replace_all(messages: Any, replacements: Sequence[Any]) -> None:
    """Replace the content of a repeated field."""
    del messages[:]
    messages.extend(replacements)


def _are_equal(messages: Sequence[Any]) -> bool:
    return all(message == messages[0] for message in messages)


def _hold_one_number(values: Sequence[np.ndarray]) -> bool:
    """Whether all elements of all arrays are equal, and there are some."""
    number = values[0].flat[:1]
    return all(value.size and np.all(value == number) for value in values)


def _only_for_reshape(graph: onnx.GraphProto) -> set[str]:
    """Values that are used only as the shapes of Reshapes in this graph."""
    shapes: set[str] = set()
    others = {output.name for output in graph.output}
    for node in graph.node:
        is_reshape = node.op_type == "Reshape"
        for position, name in enumerate(node.input):
            if is_reshape and position == 1:
                shapes.add(name)
            else:
                others.add(name)
        for attribute in node.attribute:
            others |= _names_in(attribute.g)
    return shapes - others


def _names_in(graph: onnx.GraphProto) -> set[str]:
    names = {output.name for output in graph.output}
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            names |= _names_in(attribute.g)
    return names


def _with_inferred_size(values: Sequence[np.ndarray]) -> np.ndarray | None:
    """The shape with the one dimension that depends on sizes left for Reshape to work out; None if several do."""
    first = values[0]
    differs = np.any([value != first for value in values], axis=0)
    if np.count_nonzero(differs) != 1 or 0 in first:
        return None
    return np.where(differs, INFERRED, first)


def _is_count_up(value: np.ndarray) -> bool:
    """Whether the array is 0, 1, 2, …"""
    if value.ndim != 1:
        return False
    numbers = np.arange(len(value))
    return np.array_equal(value, numbers)


def _forget_sizes(value: onnx.ValueInfoProto) -> None:
    """Remove the sizes and keep the rank: shape inference finds the sizes that are known."""
    for dimension in value.type.tensor_type.shape.dim:
        dimension.ClearField("dim_value")


def _name_dimensions(value: onnx.ValueInfoProto, shape: Sequence[int | str]) -> None:
    dimensions = value.type.tensor_type.shape.dim
    for dimension, size in zip(dimensions, shape, strict=True):
        if isinstance(size, str):
            dimension.dim_param = size
        else:
            dimension.dim_value = size
