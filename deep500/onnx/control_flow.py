"""If, Loop, Scan and SequenceMap, written out: a branch is chosen, a body repeated, as far as that is known."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from ..contracts.graph import Subgraph
from ..contracts.operator import Tensor
from ..contracts.shape_inference import dimension_names
from ..errors import Deep500Error, Unsupported
from .operators import UNKNOWN, If, Loop, Scan
from .rows import slices, stacked
from .scopes import Reference, Scope
from .values import array, label, tensor

if TYPE_CHECKING:
    from .reading import Reader

# What the outputs of a node stand for; None: it is a node like others.
Expansion = Callable[["Reader", onnx.NodeProto, Scope], Sequence[Reference] | None]


class Body:
    """A subgraph that can be written out any number of times; its weights are there once."""

    def __init__(
        self,
        reader: "Reader",
        node: onnx.NodeProto,
        attribute: str,
        scope: Scope,
        given: int,
        made: int,
    ):
        self.reader, self.node, self.graph = reader, node, _attributes(node)[attribute]
        weighed = {w.name for w in self.graph.initializer}
        takes = len([i for i in self.graph.input if i.name not in weighed])
        if takes != given or len(self.graph.output) < made:
            raise Deep500Error(
                f"node {label(node)} has a {attribute} with {takes} inputs and {len(self.graph.output)} "
                f"outputs, where it needs {given} and {made}"
            )
        self.scope = Scope(f"{scope.prefix}{node.name or node.op_type}.", scope)
        weights = [
            (w.name, reader.weight(self.scope.prefix + w.name, array(w)))
            for w in self.graph.initializer
        ]
        self.scope.bound.update(weights)

    def write(self, arguments: Sequence[Reference], place: str) -> list[Reference]:
        """The references of the outputs."""
        self.reader.spend(1 + len(self.graph.node), self.node)
        inner = Scope(f"{self.scope.prefix}{place}.", self.scope)
        inner.bind([i.name for i in self.graph.input], arguments)
        self.reader.read(self.graph.node, inner)
        return [inner[o.name] for o in self.graph.output]


def _if(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    bodies = {
        name: Body(reader, node, f"{name}_branch", scope, 0, len(node.output))
        for name in ("then", "else")
    }
    if len({len(body.graph.output) for body in bodies.values()}) > 1:
        raise Deep500Error(
            f"node {label(node)} has branches with different numbers of outputs"
        )
    condition = _single(reader, node, scope, node.input[0], "bool")
    if condition is None:
        return _branches(reader, node, scope, bodies)
    branch = "then" if condition.item() else "else"
    return bodies[branch].write((), branch)


def _branches(
    reader: "Reader", node: onnx.NodeProto, scope: Scope, bodies: dict[str, Body]
) -> Sequence[Reference]:
    """An operator that holds both branches; what they see of the values around them are its inputs."""
    parts = [
        reader.apart(node, partial(body.write, (), name))
        for name, body in bodies.items()
    ]
    seen = tuple(dict.fromkeys(name for part in parts for name in part.inputs))
    branches = [replace(part, inputs=seen) for part in parts]
    operator = If(*branches)
    return reader.hold(operator, node, [scope.value(node, node.input[0]), *seen], scope)


def _loop(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    given = max(
        2, len(node.input)
    )  # the number of rounds and the condition may be left out
    body = Body(
        reader, node, "body", scope, given, 1 + max(given - 2, len(node.output))
    )
    before = len(reader.nodes)
    found = _rounds(reader, node, scope, body)
    if found is None:
        del reader.nodes[
            before:
        ]  # what was written before a round that cannot be foreseen
        return _endless(reader, node, scope, body)
    return found


def _rounds(
    reader: "Reader", node: onnx.NodeProto, scope: Scope, body: Body
) -> Sequence[Reference] | None:
    """Every round written out; None if only a run can tell how many there are."""
    count, condition = [*node.input, "", ""][:2]
    known = [
        np.asarray(default) if not name else _single(reader, node, scope, name, dtype)
        for name, default, dtype in (
            (count, np.inf, "int64"),
            (condition, True, "bool"),
        )
    ]
    if known[0] is None or known[1] is None:
        return None
    most, go = (value.item() for value in known if value is not None)
    state = [scope[name] for name in node.input[2:]]
    rows: list[list[Reference]] = []
    while go and len(rows) < most:
        t = reader.constant(
            f"{body.scope.prefix}{len(rows)}.t", np.asarray(len(rows), np.int64)
        )
        stay = reader.constant(f"{body.scope.prefix}{len(rows)}.go", np.asarray(True))
        after, *made = body.write([t, stay, *state], str(len(rows)))
        state, row = made[: len(state)], made[len(state) :]
        rows.append(row)
        if (found := reader.value(after)) is None:
            return None
        go = found.item()
    infos = body.graph.output[1 + len(state) :]
    return [
        *state,
        *(
            _stacked(reader, node, [row[i] for row in rows], info)
            for i, info in enumerate(infos)
        ),
    ]


def _endless(
    reader: "Reader", node: onnx.NodeProto, scope: Scope, body: Body
) -> Sequence[Reference]:
    """An operator that holds the body; what that sees of the values around it are further inputs."""
    carried = max(0, len(node.input) - 2)
    rows = tuple(map(_row_kind, body.graph.output[1 + carried :]))
    graph, around = _held(reader, node, body)
    given = [scope.value(node, name) or None for name in node.input]
    given += [None] * (2 - len(given))
    return reader.hold(Loop(graph, carried, rows), node, [*given, *around], scope)


def _held(
    reader: "Reader", node: onnx.NodeProto, body: Body
) -> tuple[Subgraph, list[str]]:
    """The body as a graph of its own, and what it sees of the values around it: its further inputs."""
    formal = [reader.unknown(f"{body.scope.prefix}{i.name}") for i in body.graph.input]
    part = reader.apart(node, lambda: body.write(formal, "body"))
    around = [name for name in part.inputs if name not in formal]
    return replace(part, inputs=(*formal, *around)), around


def _row_kind(info: onnx.ValueInfoProto) -> Tensor:
    """What a row is, if the file says so."""
    try:
        kind = tensor(info)
    except Unsupported:
        return UNKNOWN
    return UNKNOWN if dimension_names([kind]) else kind


def _scan(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    if reader.opsets[""] < 9:
        raise Unsupported(
            f"node {label(node)} is a Scan of opset 8, which has a batch axis: convert it to opset 9"
        )
    given, scanned = _attributes(node), _attributes(node)["num_scan_inputs"]
    if not 1 <= scanned <= len(node.input):
        raise Deep500Error(
            f"node {label(node)} scans {scanned} of its {len(node.input)} inputs"
        )
    carried = len(node.input) - scanned
    body = Body(
        reader, node, "body", scope, len(node.input), max(carried, len(node.output))
    )
    outputs = len(body.graph.output) - carried
    axes, back = _ways(node, given, "scan_input", scanned)
    names = [scope.value(node, name) for name in node.input]
    if not all(name in reader.folding.tensors for name in names[carried:]):
        graph, around = _held(reader, node, body)
        kinds = tuple(map(_row_kind, body.graph.output[carried:]))
        row_ways = _ways(node, given, "scan_output", outputs)
        operator = Scan(
            graph, carried, tuple(axes), tuple(back), kinds, *map(tuple, row_ways)
        )
        return reader.hold(operator, node, [*names, *around], scope)
    columns = [
        _slices(reader, node, scope.value(node, name), axis, bool(b))
        for name, axis, b in zip(node.input[carried:], axes, back, strict=True)
    ]
    if len({len(column) for column in columns}) != 1:
        raise Unsupported(f"node {label(node)} scans inputs of different lengths")
    state, rows = [scope[name] for name in node.input[:carried]], []
    for t, parts in enumerate(zip(*columns, strict=True)):
        made = body.write([*state, *parts], str(t))
        state, row = made[:carried], made[carried:]
        rows.append(row)
    axes, back = _ways(node, given, "scan_output", outputs)
    infos = body.graph.output[carried:]
    return [
        *state,
        *(
            _stacked(
                reader,
                node,
                [row[i] for row in (rows[::-1] if back[i] else rows)],
                info,
                axes[i],
            )
            for i, info in enumerate(infos)
        ),
    ]


def _ways(
    node: onnx.NodeProto, given: dict[str, Any], what: str, count: int
) -> tuple[list[int], list[int]]:
    """Along which axes and in which directions, one of each for every value."""
    axes, back = (
        given.get(f"{what}_{key}") or [0] * count for key in ("axes", "directions")
    )
    if len(axes) != count or len(back) != count or not {0, 1}.issuperset(back):
        raise Deep500Error(
            f"node {label(node)} needs {count} {what}_axes and {what}_directions (0 or 1), not "
            f"{list(axes)} and {list(back)}"
        )
    return axes, back


def _sequence_map(
    reader: "Reader", node: onnx.NodeProto, scope: Scope
) -> Sequence[Reference]:
    body = Body(reader, node, "body", scope, len(node.input), len(node.output))
    given = [scope[name] for name in node.input]
    length = len(scope.sequence(node, node.input[0]))
    if any(isinstance(g, tuple) and len(g) != length for g in given):
        raise Unsupported(f"node {label(node)} maps sequences of different lengths")
    rows = [
        body.write([g[i] if isinstance(g, tuple) else g for g in given], str(i))
        for i in range(length)
    ]
    return [tuple(row[k] for row in rows) for k in range(len(node.output))]


def _slices(
    reader: "Reader", node: onnx.NodeProto, name: str, axis: int, backwards: bool
) -> list[str]:
    """The slices of a value along an axis, which they lack."""
    shape = reader.folding.tensors[name].shape
    if not -len(shape) <= axis < len(shape):
        raise Deep500Error(
            f"node {label(node)} scans {name!r} along axis {axis}, and its shape is {list(shape)}"
        )
    length = shape[axis]
    reader.spend(length, node)
    stem = f"{node.output[0] or node.name}.{name}"
    return slices(reader.emit, name, length, axis, backwards, stem)


def _stacked(
    reader: "Reader",
    node: onnx.NodeProto,
    rows: Sequence[Reference],
    info: onnx.ValueInfoProto,
    axis: int = 0,
) -> Reference:
    """The values of one output as one value with a new axis."""
    if not rows:
        kind = tensor(info)
        if any(isinstance(size, str) for size in kind.shape):
            raise Unsupported(
                f"node {label(node)} collects nothing, in a shape that is not known"
            )
        shape = [*kind.shape]
        shape.insert(axis % (len(shape) + 1), 0)
        empty = np.zeros(shape, kind.dtype)
        return reader.constant(f"{node.name or node.op_type}.{info.name}", empty)
    stem = f"{node.output[0] or node.name}.{info.name}"
    names = [row for row in rows if isinstance(row, str)]
    if len(names) < len(rows):
        raise Unsupported(f"node {label(node)} collects sequences or optionals")
    return stacked(reader.emit, names, axis, stem)


def _single(
    reader: "Reader", node: onnx.NodeProto, scope: Scope, name: str, dtype: str
) -> np.ndarray | None:
    """A condition or a count, if it is known while reading."""
    kind = reader.folding.tensors.get(scope.value(node, name))
    if kind is not None and (kind.dtype != dtype or any(n != 1 for n in kind.shape)):
        raise Deep500Error(
            f"node {label(node)} takes {name!r}, which is {kind.dtype}{list(kind.shape)}, where one "
            f"{dtype} will do"
        )
    return reader.value(scope[name])


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


CONTROL_FLOW: dict[str, Expansion] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    "SequenceMap": _sequence_map,
}
