"""Expands If, Loop, Scan and SequenceMap while reading: chooses a branch or unrolls a body where that is possible."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from ..contracts.operator import TensorSpec
from ..errors import Deep500Error, Unsupported
from ..graph.graph import Subgraph
from ..graph.shape_inference import dimension_names
from .operators import UNKNOWN, If, Loop, Scan
from .rows import slices, stacked
from .scopes import Reference, Scope
from .values import array, attribute_values, label, tensor

if TYPE_CHECKING:
    from .reading import Reader

# Returns what the outputs of a node refer to; None if the node is read like any other.
Expansion = Callable[["Reader", onnx.NodeProto, Scope], Sequence[Reference] | None]


class Body:
    """A subgraph that can be inlined any number of times; its weights are stored once."""

    def __init__(
        self,
        reader: "Reader",
        node: onnx.NodeProto,
        attribute: str,
        scope: Scope,
        input_count: int,
        output_count: int,
    ):
        self.reader = reader
        self.node = node
        self.graph = attribute_values(node)[attribute]
        self._check_counts(attribute, input_count, output_count)
        name = node.name or node.op_type
        prefix = f"{scope.prefix}{name}."
        self.scope = Scope(prefix, scope)
        for weight in self.graph.initializer:
            stem = prefix + weight.name
            self.scope.bound[weight.name] = reader.weight(stem, array(weight))

    def inline(self, arguments: Sequence[Reference], suffix: str) -> list[Reference]:
        """Add the nodes of the subgraph for these arguments; returns the references of its outputs."""
        node_count = len(self.graph.node)
        self.reader.limit_expansion(1 + node_count, self.node)
        prefix = f"{self.scope.prefix}{suffix}."
        inner = Scope(prefix, self.scope)
        formal_names = [value.name for value in self.graph.input]
        inner.bind(formal_names, arguments)
        self.reader.read(self.graph.node, inner)
        return [inner[output.name] for output in self.graph.output]

    def _check_counts(self, attribute: str, inputs: int, outputs: int) -> None:
        weights = {weight.name for weight in self.graph.initializer}
        actual_inputs = 0
        for value in self.graph.input:
            if value.name not in weights:
                actual_inputs += 1
        actual_outputs = len(self.graph.output)
        if actual_inputs != inputs or actual_outputs < outputs:
            raise Deep500Error(
                f"node {label(self.node)} has a {attribute} with {actual_inputs} inputs and "
                f"{actual_outputs} outputs, where it needs {inputs} and {outputs}"
            )


def _if(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    output_count = len(node.output)
    bodies: dict[str, Body] = {}
    for name in ("then", "else"):
        attribute = f"{name}_branch"
        bodies[name] = Body(reader, node, attribute, scope, 0, output_count)
    then_outputs = bodies["then"].graph.output
    else_outputs = bodies["else"].graph.output
    if len(then_outputs) != len(else_outputs):
        raise Deep500Error(
            f"node {label(node)} has branches with different numbers of outputs"
        )
    condition = _single(reader, node, scope, node.input[0], "bool")
    if condition is None:
        return _if_operator(reader, node, scope, bodies)
    branch = "then" if condition.item() else "else"
    return bodies[branch].inline((), branch)


def _if_operator(
    reader: "Reader",
    node: onnx.NodeProto,
    scope: Scope,
    bodies: dict[str, Body],
) -> Sequence[Reference]:
    """Keep both branches in an operator; the outer values that they use become its inputs."""
    subgraphs = []
    captured: dict[str, None] = {}
    for name, body in bodies.items():
        subgraph = reader.subgraph(node, partial(body.inline, (), name))
        subgraphs.append(subgraph)
        captured |= dict.fromkeys(subgraph.inputs)
    inputs = tuple(captured)
    branches = [replace(subgraph, inputs=inputs) for subgraph in subgraphs]
    operator = If(*branches)
    condition = scope.value(node, node.input[0])
    return reader.add_operator(operator, node, [condition, *inputs], scope)


def _loop(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    # The number of rounds and the condition may be left out.
    input_count = max(2, len(node.input))
    carried = input_count - 2
    output_count = 1 + max(carried, len(node.output))
    body = Body(reader, node, "body", scope, input_count, output_count)
    nodes_before = len(reader.nodes)
    unrolled = _unrolled_loop(reader, node, scope, body)
    if unrolled is not None:
        return unrolled
    # rounds before the one that cannot be foreseen
    del reader.nodes[nodes_before:]
    return _loop_operator(reader, node, scope, body)


def _unrolled_loop(
    reader: "Reader", node: onnx.NodeProto, scope: Scope, body: Body
) -> Sequence[Reference] | None:
    """Unroll every round; returns None if the number of rounds is known only at run time."""
    limits = _loop_limits(reader, node, scope)
    if limits is None:
        return None
    most, go_on = limits
    state = [scope[name] for name in node.input[2:]]
    carried = len(state)
    rows: list[list[Reference]] = []
    while go_on and len(rows) < most:
        count = len(rows)
        prefix = f"{body.scope.prefix}{count}"
        t = reader.constant(f"{prefix}.t", np.asarray(count, np.int64))
        true = reader.constant(f"{prefix}.go", np.asarray(True))
        arguments = [t, true, *state]
        condition, *results = body.inline(arguments, str(count))
        state = results[:carried]
        rows.append(results[carried:])
        condition_value = reader.value(condition)
        if condition_value is None:
            return None
        go_on = condition_value.item()
    stacks = []
    row_infos = body.graph.output[1 + carried :]
    for i, info in enumerate(row_infos):
        column = [row[i] for row in rows]
        stacks.append(_stacked(reader, node, column, info))
    return [*state, *stacks]


def _loop_limits(
    reader: "Reader", node: onnx.NodeProto, scope: Scope
) -> tuple[float, bool] | None:
    """The largest number of rounds and the first condition; None if one of them is known only at run time."""
    count_name, condition_name = [*node.input, "", ""][:2]
    count: np.ndarray | None = np.asarray(np.inf)
    condition: np.ndarray | None = np.asarray(True)
    if count_name:
        count = _single(reader, node, scope, count_name, "int64")
    if condition_name:
        condition = _single(reader, node, scope, condition_name, "bool")
    if count is None or condition is None:
        return None
    return count.item(), condition.item()


def _loop_operator(
    reader: "Reader", node: onnx.NodeProto, scope: Scope, body: Body
) -> Sequence[Reference]:
    """Keep the body in an operator; the outer values that it uses become further inputs."""
    carried = max(0, len(node.input) - 2)
    row_infos = body.graph.output[1 + carried :]
    rows = tuple(map(_row_spec, row_infos))
    subgraph, captured = _body_subgraph(reader, node, body)
    inputs: list[str | None] = []
    for name in node.input:
        value = scope.value(node, name)
        inputs.append(value or None)
    left_out = 2 - len(inputs)
    inputs += [None] * left_out
    operator = Loop(subgraph, carried, rows)
    return reader.add_operator(operator, node, [*inputs, *captured], scope)


def _body_subgraph(
    reader: "Reader", node: onnx.NodeProto, body: Body
) -> tuple[Subgraph, list[str]]:
    """The body as a subgraph, and the outer values that it uses, which are its last inputs."""
    formal = []
    for value in body.graph.input:
        stem = body.scope.prefix + value.name
        formal.append(reader.runtime_value(stem))
    subgraph = reader.subgraph(node, lambda: body.inline(formal, "body"))
    captured = [name for name in subgraph.inputs if name not in formal]
    return replace(subgraph, inputs=(*formal, *captured)), captured


def _row_spec(info: onnx.ValueInfoProto) -> TensorSpec:
    """Shape and dtype of a row; UNKNOWN unless the file declares both completely."""
    try:
        spec = tensor(info)
    except Unsupported:
        return UNKNOWN
    if dimension_names([spec]):
        return UNKNOWN
    return spec


def _scan(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    if reader.opsets[""] < 9:
        raise Unsupported(
            f"node {label(node)} is a Scan of opset 8, which has a batch axis: convert it to opset 9"
        )
    attributes = attribute_values(node)
    input_count = len(node.input)
    scanned = attributes["num_scan_inputs"]
    if not 1 <= scanned <= input_count:
        raise Deep500Error(
            f"node {label(node)} scans {scanned} of its {input_count} inputs"
        )
    carried = input_count - scanned
    output_count = max(carried, len(node.output))
    body = Body(reader, node, "body", scope, input_count, output_count)
    axes, backwards = _scan_directions(node, attributes, "scan_input", scanned)
    names = [scope.value(node, name) for name in node.input]
    scanned_names = names[carried:]
    if not all(name in reader.folding.tensors for name in scanned_names):
        return _scan_operator(reader, node, scope, body, names, (axes, backwards))
    columns = []
    for name, axis, reverse in zip(scanned_names, axes, backwards, strict=True):
        column = _slices(reader, node, name, axis, bool(reverse))
        columns.append(column)
    length = len(columns[0])
    if any(len(column) != length for column in columns):
        raise Unsupported(f"node {label(node)} scans inputs of different lengths")
    state = [scope[name] for name in node.input[:carried]]
    return _unrolled_scan(reader, node, body, state, columns)


def _scan_operator(
    reader: "Reader",
    node: onnx.NodeProto,
    scope: Scope,
    body: Body,
    names: Sequence[str],
    input_directions: tuple[list[int], list[int]],
) -> Sequence[Reference]:
    """Keep the body in an operator, because the lengths to scan are known only at run time."""
    attributes = attribute_values(node)
    carried = len(names) - attributes["num_scan_inputs"]
    row_infos = body.graph.output[carried:]
    axes, backwards = input_directions
    subgraph, captured = _body_subgraph(reader, node, body)
    rows = tuple(map(_row_spec, row_infos))
    row_axes, rows_backwards = _scan_directions(
        node, attributes, "scan_output", len(row_infos)
    )
    operator = Scan(
        subgraph,
        carried,
        tuple(axes),
        tuple(backwards),
        rows,
        tuple(row_axes),
        tuple(rows_backwards),
    )
    return reader.add_operator(operator, node, [*names, *captured], scope)


def _unrolled_scan(
    reader: "Reader",
    node: onnx.NodeProto,
    body: Body,
    state: list[Reference],
    columns: Sequence[Sequence[str]],
) -> Sequence[Reference]:
    """Inline the body once for every slice of the scanned inputs."""
    carried = len(state)
    rows = []
    for t, parts in enumerate(zip(*columns, strict=True)):
        arguments = [*state, *parts]
        results = body.inline(arguments, str(t))
        state = results[:carried]
        rows.append(results[carried:])
    row_infos = body.graph.output[carried:]
    axes, backwards = _scan_directions(
        node, attribute_values(node), "scan_output", len(row_infos)
    )
    stacks = []
    for i, info in enumerate(row_infos):
        column = [row[i] for row in rows]
        if backwards[i]:
            column.reverse()
        stack = _stacked(reader, node, column, info, axes[i])
        stacks.append(stack)
    return [*state, *stacks]


def _scan_directions(
    node: onnx.NodeProto, attributes: dict[str, Any], prefix: str, count: int
) -> tuple[list[int], list[int]]:
    """The axis and the direction (1: backwards) of each of `count` scanned values."""
    zeros = [0] * count
    axes = attributes.get(f"{prefix}_axes") or zeros
    backwards = attributes.get(f"{prefix}_directions") or zeros
    right_lengths = len(axes) == len(backwards) == count
    if not right_lengths or not {0, 1}.issuperset(backwards):
        raise Deep500Error(
            f"node {label(node)} needs {count} {prefix}_axes and {prefix}_directions (0 or 1), not "
            f"{list(axes)} and {list(backwards)}"
        )
    return axes, backwards


def _sequence_map(
    reader: "Reader", node: onnx.NodeProto, scope: Scope
) -> Sequence[Reference]:
    input_count = len(node.input)
    output_count = len(node.output)
    body = Body(reader, node, "body", scope, input_count, output_count)
    inputs = [scope[name] for name in node.input]
    length = len(scope.sequence(node, node.input[0]))
    for value in inputs:
        if isinstance(value, tuple) and len(value) != length:
            raise Unsupported(f"node {label(node)} maps sequences of different lengths")
    rows = []
    for i in range(length):
        arguments = [_element(value, i) for value in inputs]
        row = body.inline(arguments, str(i))
        rows.append(row)
    outputs: list[Reference] = []
    for position in range(output_count):
        column = [row[position] for row in rows]
        outputs.append(tuple(column))
    return outputs


def _element(value: Reference, index: int) -> Reference:
    """An element of a sequence; any other value as it is."""
    if isinstance(value, tuple):
        return value[index]
    return value


def _slices(
    reader: "Reader",
    node: onnx.NodeProto,
    name: str,
    axis: int,
    backwards: bool,
) -> list[str]:
    """The slices of a value along an axis, without that axis."""
    shape = reader.folding.tensors[name].shape
    rank = len(shape)
    if not -rank <= axis < rank:
        raise Deep500Error(
            f"node {label(node)} scans {name!r} along axis {axis}, and its shape is {list(shape)}"
        )
    length = shape[axis]
    reader.limit_expansion(length, node)
    stem = f"{node.output[0] or node.name}.{name}"
    return slices(reader.emit, name, length, axis, backwards, stem)


def _stacked(
    reader: "Reader",
    node: onnx.NodeProto,
    rows: Sequence[Reference],
    info: onnx.ValueInfoProto,
    axis: int = 0,
) -> Reference:
    """The rows of one output, stacked along a new axis."""
    if not rows:
        return _empty_stack(reader, node, info, axis)
    stem = f"{node.output[0] or node.name}.{info.name}"
    names = [row for row in rows if isinstance(row, str)]
    if len(names) < len(rows):
        raise Unsupported(f"node {label(node)} collects sequences or optionals")
    return stacked(reader.emit, names, axis, stem)


def _empty_stack(
    reader: "Reader", node: onnx.NodeProto, info: onnx.ValueInfoProto, axis: int
) -> str:
    spec = tensor(info)
    if any(isinstance(size, str) for size in spec.shape):
        raise Unsupported(
            f"node {label(node)} collects nothing, in a shape that is not known"
        )
    shape = [*spec.shape]
    position = axis % (len(shape) + 1)
    shape.insert(position, 0)
    empty = np.zeros(shape, spec.dtype)
    stem = f"{node.name or node.op_type}.{info.name}"
    return reader.constant(stem, empty)


def _single(
    reader: "Reader", node: onnx.NodeProto, scope: Scope, name: str, dtype: str
) -> np.ndarray | None:
    """The value of a condition or a count, if it is known while reading."""
    spec = reader.folding.tensors.get(scope.value(node, name))
    if spec is not None:
        is_single = all(size == 1 for size in spec.shape)
        if spec.dtype != dtype or not is_single:
            raise Deep500Error(
                f"node {label(node)} takes {name!r}, which is {spec.dtype}{list(spec.shape)}, where "
                f"one {dtype} will do"
            )
    return reader.value(scope[name])


CONTROL_FLOW: dict[str, Expansion] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    "SequenceMap": _sequence_map,
}
