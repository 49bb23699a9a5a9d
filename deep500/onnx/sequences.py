"""Sequences and optionals, which live while reading only: a sequence is a list of values, known one by one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from ..errors import Deep500Error, Unsupported
from .control_flow import Expansion
from .scopes import Pieces, Reference, Scope
from .values import label

if TYPE_CHECKING:
    from .reading import Reader

Found = Sequence[Reference]


def _construct(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    return [tuple(scope[name] for name in node.input)]


def _empty(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    return [()]


def _insert(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    given = scope.sequence(node, node.input[0])
    at = _position(reader, node, scope, 2, len(given), len(given))
    return [(*given[:at], scope[node.input[1]], *given[at:])]


def _erase(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    given = scope.sequence(node, node.input[0])
    at = _position(reader, node, scope, 1, len(given), len(given) - 1)
    return [(*given[:at], *given[at + 1 :])]


def _at(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    pieces = scope[node.input[0]]
    if isinstance(pieces, Pieces):
        return [_piece(reader, node, scope, pieces)]
    given = scope.sequence(node, node.input[0])
    return [given[_position(reader, node, scope, 1, len(given), len(given) - 1)]]


def _piece(reader: "Reader", node: onnx.NodeProto, scope: Scope, pieces: Pieces) -> str:
    """A piece by its place from the front; from the end it would take their number."""
    place = reader.value(scope[node.input[1]])
    if place is None or place.item() < 0:
        raise Unsupported(
            f"node {label(node)} takes a place of a sequence whose length only a run brings: give the "
            "model fixed shapes"
        )
    start, stem = int(place.item()) * pieces.length, _stem(node, scope)
    limits = [(start,), (start + pieces.length,), (pieces.axis,)]
    (piece,) = reader.emit("Slice", [pieces.value, *limits], stem)
    if pieces.keeps_axis:
        return piece
    return reader.emit("Squeeze", [piece, (pieces.axis,)], stem)[0]


def _length(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    return [
        reader.constant(
            _stem(node, scope),
            np.asarray(len(scope.sequence(node, node.input[0])), np.int64),
        )
    ]


def _concat(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    parts: Sequence[Any] = scope.sequence(node, node.input[0])
    axis, new = _attribute(node, "axis", 0), _attribute(node, "new_axis", 0)
    if not parts:
        raise Unsupported(f"node {label(node)} joins an empty sequence")
    if new:
        parts = [
            reader.emit("Unsqueeze", [part, (axis,)], f"{_stem(node, scope)}.part")[0]
            for part in parts
        ]
    return reader.emit("Concat", parts, _stem(node, scope), axis=axis)


def _split(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    name, axis = scope.value(node, node.input[0]), _attribute(node, "axis", 0)
    one_by_one = len(node.input) < 2 or not node.input[1]
    lengths = np.asarray(1) if one_by_one else reader.value(scope[node.input[1]])
    if lengths is None:
        raise Unsupported(
            f"node {label(node)} splits by {node.input[1]!r}, which only a run brings"
        )
    keeps_axis = not one_by_one or bool(_attribute(node, "keepdims", 1))
    if lengths.ndim:
        sizes = tuple(lengths.tolist())
        reader.spend(len(sizes), node)
    elif name in reader.folding.tensors:
        size = _size(node, reader.folding.tensors[name].shape, axis)
        each = max(int(lengths), 1)
        reader.spend(-(-size // each), node)
        sizes = _chunks(size, each)
    else:
        return [Pieces(name, axis, max(int(lengths), 1), keeps_axis)]
    parts = reader.emit(
        "Split", [name, sizes], f"{_stem(node, scope)}.parts", len(sizes), axis=axis
    )
    if not keeps_axis:
        parts = [
            reader.emit("Squeeze", [part, (axis,)], _stem(node, scope))[0]
            for part in parts
        ]
    return [tuple(parts)]


def _size(node: onnx.NodeProto, shape: tuple[int, ...], axis: int) -> int:
    if not -len(shape) <= axis < len(shape):
        raise Deep500Error(
            f"node {label(node)} splits along axis {axis}, and the shape is {list(shape)}"
        )
    return shape[axis]


def _chunks(size: int, each: int) -> tuple[int, ...]:
    return tuple(min(each, size - at) for at in range(0, size, each))


def _optional(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    return [scope[node.input[0]] if node.input and node.input[0] else None]


def _get(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    if (found := scope[node.input[0]]) is None:
        raise Deep500Error(
            f"node {label(node)} takes the element of {node.input[0]!r}, which holds none"
        )
    return [found]


def _has(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    there = (
        bool(node.input) and bool(node.input[0]) and scope[node.input[0]] is not None
    )
    return [reader.constant(_stem(node, scope), np.asarray(there))]


def _identity(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found | None:
    """Of a sequence or an optional; that of a tensor is a node."""
    return None if isinstance(found := scope[node.input[0]], str) else [found]


def _position(
    reader: "Reader",
    node: onnx.NodeProto,
    scope: Scope,
    at: int,
    length: int,
    last: int,
) -> int:
    """The place in a sequence that an input names, by default its end; negative ones count from there."""
    if len(node.input) <= at or not node.input[at]:
        found = last
    elif (value := reader.value(scope[node.input[at]])) is not None:
        found = int(value.item()) + (length if value.item() < 0 else 0)
    else:
        raise Unsupported(
            f"node {label(node)} takes the place {node.input[at]!r} of a sequence, which only a run "
            "brings"
        )
    if not 0 <= found <= last:
        raise Deep500Error(
            f"node {label(node)} takes place {found} of a sequence of {length}"
        )
    return found


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next(
        (helper.get_attribute_value(a) for a in node.attribute if a.name == name),
        default,
    )


def _stem(node: onnx.NodeProto, scope: Scope) -> str:
    return f"{scope.prefix}{node.output[0]}"


SEQUENCES: dict[str, Expansion] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "ConcatFromSequence": _concat,
    "SplitToSequence": _split,
    "Optional": _optional,
    "OptionalGetElement": _get,
    "OptionalHasElement": _has,
    "Identity": _identity,
}
