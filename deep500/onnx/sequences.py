"""Sequences and optionals, which live while reading only: a sequence is a list of values, known one by one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from ..errors import Deep500Error, Unsupported
from .control_flow import Expansion
from .scopes import Reference, Scope
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
    given = scope.sequence(node, node.input[0])
    return [given[_position(reader, node, scope, 1, len(given), len(given) - 1)]]


def _length(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    return [
        reader.constant(
            _stem(node, scope), np.asarray(len(scope.sequence(node, node.input[0])), np.int64)
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
    if name not in reader.folding.tensors:
        raise Unsupported(
            f"node {label(node)} splits {node.input[0]!r}, whose shape is not known: give the model "
            "fixed shapes"
        )
    shape = reader.folding.tensors[name].shape
    if not -len(shape) <= axis < len(shape):
        raise Deep500Error(
            f"node {label(node)} splits along axis {axis}, and the shape is {list(shape)}"
        )
    size = shape[axis]
    reader.spend(size, node)
    sizes, one = (1,) * size, True
    if len(node.input) > 1 and node.input[1]:
        one = False
        if (given := reader.value(scope[node.input[1]])) is None:
            raise Unsupported(
                f"node {label(node)} splits by {node.input[1]!r}, which only a run brings"
            )
        sizes = tuple(given.tolist()) if given.ndim else _chunks(size, int(given))
        reader.spend(len(sizes), node)
    parts = reader.emit(
        "Split", [name, sizes], f"{_stem(node, scope)}.parts", len(sizes), axis=axis
    )
    if one and not _attribute(node, "keepdims", 1):
        parts = [reader.emit("Squeeze", [part, (axis,)], _stem(node, scope))[0] for part in parts]
    return [tuple(parts)]


def _chunks(size: int, each: int) -> tuple[int, ...]:
    return tuple(min(each, size - at) for at in range(0, size, max(each, 1)))


def _optional(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    return [scope[node.input[0]] if node.input and node.input[0] else None]


def _get(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    if (found := scope[node.input[0]]) is None:
        raise Deep500Error(
            f"node {label(node)} takes the element of {node.input[0]!r}, which holds none"
        )
    return [found]


def _has(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found:
    there = bool(node.input) and bool(node.input[0]) and scope[node.input[0]] is not None
    return [reader.constant(_stem(node, scope), np.asarray(there))]


def _identity(reader: "Reader", node: onnx.NodeProto, scope: Scope) -> Found | None:
    """Of a sequence or an optional; that of a tensor is a node."""
    return None if isinstance(found := scope[node.input[0]], str) else [found]


def _position(
    reader: "Reader", node: onnx.NodeProto, scope: Scope, at: int, length: int, last: int
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
        raise Deep500Error(f"node {label(node)} takes place {found} of a sequence of {length}")
    return found


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


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
