"""If, Loop, Scan and SequenceMap, written out: a branch is chosen, a body repeated, as far as that is known."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from .. import registry
from ..errors import Unsupported
from ._onnx_scopes import Reference, Scope
from ._onnx_values import array, label, tensor

if TYPE_CHECKING:
    from ._onnx_reading import Reader

# What the outputs of a node stand for; None: it is a node like others.
Expansion = Callable[["Reader", onnx.NodeProto, Scope], Sequence[Reference] | None]


class Body:
    """A subgraph that can be written out any number of times; its weights are there once."""

    def __init__(self, reader: "Reader", node: onnx.NodeProto, attribute: str, scope: Scope):
        self.reader, self.node, self.graph = reader, node, _attributes(node)[attribute]
        self.scope = Scope(f"{scope.prefix}{node.name or node.op_type}.", scope)
        weights = [(w.name, reader.weight(self.scope.prefix + w.name, array(w))) for w in self.graph.initializer]
        self.scope.bound.update(weights)

    def write(self, arguments: Sequence[Reference], place: str) -> list[Reference]:
        """The references of the outputs."""
        self.reader.spend(1 + len(self.graph.node), self.node)
        inner = Scope(f"{self.scope.prefix}{place}.", self.scope)
        inner.bind([i.name for i in self.graph.input], arguments)
        self.reader.read(self.graph.node, inner)
        return [inner[o.name] for o in self.graph.output]


def _if(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    condition = reader.value(scope[node.input[0]])
    if condition is None:
        return _branches(reader, node, scope)
    branch = "then_branch" if condition.item() else "else_branch"
    return Body(reader, node, branch, scope).write((), branch.removesuffix("_branch"))


def _branches(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    """An operator that holds both branches; what they see of the values around them are its inputs."""
    parts = [reader.apart(node, lambda: Body(reader, node, name, scope).write((), name))  # noqa: B023 - called at once
             for name in ("then_branch", "else_branch")]
    seen = tuple(dict.fromkeys(name for part in parts for name in part.inputs))
    branches = [replace(part, inputs=seen) for part in parts]
    operator = registry.module("operators", "_control_flow").If(*branches)
    return reader.hold(operator, node, [scope.value(node, node.input[0]), *seen], scope)


def _loop(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    body = Body(reader, node, "body", scope)
    before = len(reader.network.nodes)
    found = _rounds(reader, node, scope, body)
    if found is None:
        del reader.network.nodes[before:]  # what was written before a round that cannot be foreseen
        return _endless(reader, node, scope, body)
    return found


def _rounds(reader: "Reader", node: onnx.NodeProto, scope: Scope, body: Body) -> Sequence[Reference] | None:
    """Every round written out; None if only a run can tell how many there are."""
    count, condition = [*node.input, "", ""][:2]
    known = [np.asarray(default) if not name else reader.value(scope[name])
             for name, default in ((count, np.inf), (condition, True))]
    if known[0] is None or known[1] is None:
        return None
    most, go = (value.item() for value in known if value is not None)
    state = [scope[name] for name in node.input[2:]]
    rows: list[list[Reference]] = []
    while go and len(rows) < most:
        t = reader.constant(f"{body.scope.prefix}{len(rows)}.t", np.asarray(len(rows), np.int64))
        stay = reader.constant(f"{body.scope.prefix}{len(rows)}.go", np.asarray(True))
        after, *made = body.write([t, stay, *state], str(len(rows)))
        state, row = made[:len(state)], made[len(state):]
        rows.append(row)
        if (found := reader.value(after)) is None:
            return None
        go = found.item()
    infos = body.graph.output[1 + len(state):]
    return [*state, *(_stacked(reader, node, [row[i] for row in rows], info) for i, info in enumerate(infos))]


def _endless(reader: "Reader", node: onnx.NodeProto, scope: Scope, body: Body) -> Sequence[Reference]:
    """An operator that holds the body; what that sees of the values around it are further inputs."""
    carried = len(node.input) - 2
    if len(body.graph.output) > 1 + carried:
        raise Unsupported(f"node {label(node)} collects {body.graph.output[1 + carried].name!r} in every round, and "
                          "only a run tells how many there are")
    formal = [reader.unknown(f"{body.scope.prefix}{i.name}") for i in body.graph.input]
    part = reader.apart(node, lambda: body.write(formal, "body"))
    around = [name for name in part.inputs if name not in formal]
    operator = registry.module("operators", "_control_flow").Loop(replace(part, inputs=(*formal, *around)), carried)
    given = [scope.value(node, name) or None for name in node.input]
    return reader.hold(operator, node, [*given, *around], scope)


def _scan(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    if reader.opsets[""] < 9:
        raise Unsupported(f"node {label(node)} is a Scan of opset 8, which has a batch axis: convert it to opset 9")
    body, given = Body(reader, node, "body", scope), _attributes(node)
    scanned = given["num_scan_inputs"]
    carried, outputs = len(node.input) - scanned, len(node.output) - len(node.input) + scanned
    axes, back = (given.get(f"scan_input_{key}") or [0] * scanned for key in ("axes", "directions"))
    columns = [_slices(reader, node, scope.value(node, name), axis, bool(b))
               for name, axis, b in zip(node.input[carried:], axes, back, strict=True)]
    if len({len(column) for column in columns}) != 1:
        raise Unsupported(f"node {label(node)} scans inputs of different lengths")
    state, rows = [scope[name] for name in node.input[:carried]], []
    for t, slices in enumerate(zip(*columns, strict=True)):
        made = body.write([*state, *slices], str(t))
        state, row = made[:carried], made[carried:]
        rows.append(row)
    axes, back = (given.get(f"scan_output_{key}") or [0] * outputs for key in ("axes", "directions"))
    infos = body.graph.output[carried:]
    return [*state, *(_stacked(reader, node, [row[i] for row in (rows[::-1] if back[i] else rows)], info, axes[i])
                      for i, info in enumerate(infos))]


def _sequence_map(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Sequence[Reference]:
    body = Body(reader, node, "body", scope)
    given = [scope[name] for name in node.input]
    length = len(scope.sequence(node, node.input[0]))
    if any(isinstance(g, tuple) and len(g) != length for g in given):
        raise Unsupported(f"node {label(node)} maps sequences of different lengths")
    rows = [body.write([g[i] if isinstance(g, tuple) else g for g in given], str(i)) for i in range(length)]
    return [tuple(row[k] for row in rows) for k in range(len(node.output))]


def _slices(reader: "Reader", node: onnx.NodeProto, name: str, axis: int, backwards: bool) -> list[str]:
    """The slices of a value along an axis, which they lack."""
    if name not in reader.folding.tensors:
        raise Unsupported(f"node {label(node)} scans {name!r}, whose length is not known: give the model fixed shapes")
    length = reader.folding.tensors[name].shape[axis]
    reader.spend(length, node)
    stem = f"{node.output[0] or node.name}.{name}"
    parts = reader.emit("Split", [name, (1,) * length], f"{stem}.parts", length, axis=axis) if length else []
    found = [reader.emit("Squeeze", [part, (axis,)], stem)[0] for part in parts]
    return found[::-1] if backwards else found


def _stacked(reader: "Reader", node: onnx.NodeProto, rows: Sequence[Reference], info: onnx.ValueInfoProto,
             axis: int = 0) -> Reference:
    """The values of one output as one value with a new axis."""
    if not rows:
        kind = tensor(info)
        return reader.constant(f"{node.name or node.op_type}.{info.name}", np.zeros((0, *kind.shape), kind.dtype))
    stem = f"{node.output[0] or node.name}.{info.name}"
    if not all(isinstance(row, str) for row in rows):
        raise Unsupported(f"node {label(node)} collects sequences or optionals")
    columns = [reader.emit("Unsqueeze", [row, (axis,)], f"{stem}.row")[0] for row in rows]
    return reader.emit("Concat", columns, stem, axis=axis)[0]


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


CONTROL_FLOW: dict[str, Expansion] = {"If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _sequence_map}
