"""Sequences and optionals, which exist only while reading: a sequence is a tuple of references."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx

from ..errors import Deep500Error, Unsupported
from .control_flow import Expansion
from .scopes import Pieces, Reference, Scope
from .values import attribute_values, label

if TYPE_CHECKING:
    from .reading import Reader

References = Sequence[Reference]  # one for every output of a node


def _construct(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    elements = [scope[name] for name in node.input]
    return [tuple(elements)]


def _empty(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    return [()]


def _insert(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    elements = [*scope.sequence(node, node.input[0])]
    length = len(elements)
    position = _position(reader, node, scope, 2, length, length)
    elements.insert(position, scope[node.input[1]])
    return [tuple(elements)]


def _erase(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    elements = [*scope.sequence(node, node.input[0])]
    length = len(elements)
    position = _position(reader, node, scope, 1, length, length - 1)
    del elements[position]
    return [tuple(elements)]


def _at(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    pieces = scope[node.input[0]]
    if isinstance(pieces, Pieces):
        piece = _piece(reader, node, scope, pieces)
        return [piece]
    elements = scope.sequence(node, node.input[0])
    length = len(elements)
    position = _position(reader, node, scope, 1, length, length - 1)
    return [elements[position]]


def _piece(reader: "Reader", node: onnx.NodeProto, scope: Scope, pieces: Pieces) -> str:
    """One piece by its index from the front; an index from the end would need the number of pieces."""
    index = reader.value(scope[node.input[1]])
    if index is None or index.item() < 0:
        raise Unsupported(
            f"node {label(node)} takes a place of a sequence whose length only a run brings: give the "
            "model fixed shapes"
        )
    start = int(index.item()) * pieces.length
    stop = start + pieces.length
    stem = _stem(node, scope)
    inputs = [pieces.value, (start,), (stop,), (pieces.axis,)]
    (piece,) = reader.emit("Slice", inputs, stem)
    if pieces.keeps_axis:
        return piece
    (squeezed,) = reader.emit("Squeeze", [piece, (pieces.axis,)], stem)
    return squeezed


def _length(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    elements = scope.sequence(node, node.input[0])
    length = np.asarray(len(elements), np.int64)
    name = reader.constant(_stem(node, scope), length)
    return [name]


def _concat(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    parts = [*scope.sequence(node, node.input[0])]
    axis = _attribute(node, "axis", 0)
    stem = _stem(node, scope)
    if not parts:
        raise Unsupported(f"node {label(node)} joins an empty sequence")
    if _attribute(node, "new_axis", 0):
        wide_parts = []
        for part in parts:
            wide_parts += reader.emit("Unsqueeze", [part, (axis,)], f"{stem}.part")
        return reader.emit("Concat", wide_parts, stem, axis=axis)
    return reader.emit("Concat", parts, stem, axis=axis)


def _split(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    name = scope.value(node, node.input[0])
    axis = _attribute(node, "axis", 0)
    one_by_one = not _has_input(node, 1)
    lengths: np.ndarray | None = np.asarray(1)
    if not one_by_one:
        lengths = reader.value(scope[node.input[1]])
    if lengths is None:
        raise Unsupported(
            f"node {label(node)} splits by {node.input[1]!r}, which only a run brings"
        )
    keeps_axis = True
    if one_by_one:
        keeps_axis = bool(_attribute(node, "keepdims", 1))
    if lengths.ndim:
        sizes = tuple(lengths.tolist())
        reader.limit_expansion(len(sizes), node)
    elif name in reader.folding.tensors:
        sizes = _equal_sizes(reader, node, name, axis, int(lengths))
    else:
        piece_length = max(int(lengths), 1)
        return [Pieces(name, axis, piece_length, keeps_axis)]
    stem = _stem(node, scope)
    count = len(sizes)
    parts = reader.emit("Split", [name, sizes], f"{stem}.parts", count, axis=axis)
    if keeps_axis:
        return [tuple(parts)]
    squeezed = []
    for part in parts:
        squeezed += reader.emit("Squeeze", [part, (axis,)], stem)
    return [tuple(squeezed)]


def _equal_sizes(
    reader: "Reader", node: onnx.NodeProto, name: str, axis: int, length: int
) -> tuple[int, ...]:
    """The sizes of the pieces of a value; all have this length, except that the last may be shorter."""
    shape = reader.folding.tensors[name].shape
    rank = len(shape)
    if not -rank <= axis < rank:
        raise Deep500Error(
            f"node {label(node)} splits along axis {axis}, and the shape is {list(shape)}"
        )
    total = shape[axis]
    length = max(length, 1)
    starts = range(0, total, length)
    reader.limit_expansion(len(starts), node)
    return tuple(min(length, total - start) for start in starts)


def _optional(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    if not _has_input(node, 0):
        return [None]
    return [scope[node.input[0]]]


def _get(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    element = scope[node.input[0]]
    if element is None:
        raise Deep500Error(
            f"node {label(node)} takes the element of {node.input[0]!r}, which holds none"
        )
    return [element]


def _has(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> References:
    has_element = False
    if _has_input(node, 0):
        has_element = scope[node.input[0]] is not None
    value = np.asarray(has_element)
    name = reader.constant(_stem(node, scope), value)
    return [name]


def _identity(
    reader: "Reader", node: onnx.NodeProto, scope: Scope
) -> References | None:
    """The Identity of a sequence or an optional; None for that of a tensor, which is a node."""
    reference = scope[node.input[0]]
    if isinstance(reference, str):
        return None
    return [reference]


def _position(
    reader: "Reader",
    node: onnx.NodeProto,
    scope: Scope,
    input_index: int,
    length: int,
    last: int,
) -> int:
    """The position in a sequence that an input gives, `last` by default; negative ones count from the end."""
    if not _has_input(node, input_index):
        position = last
    else:
        name = node.input[input_index]
        value = reader.value(scope[name])
        if value is None:
            raise Unsupported(
                f"node {label(node)} takes the place {name!r} of a sequence, which only a run brings"
            )
        position = int(value.item())
        if position < 0:
            position += length
    if not 0 <= position <= last:
        raise Deep500Error(
            f"node {label(node)} takes place {position} of a sequence of {length}"
        )
    return position


def _has_input(node: onnx.NodeProto, index: int) -> bool:
    return index < len(node.input) and bool(node.input[index])


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return attribute_values(node).get(name, default)


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
