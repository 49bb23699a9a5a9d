"""Nodes that split a value into slices along an axis, and that stack rows to one value."""

from collections.abc import Callable, Sequence

# Adds a node: takes its operator, its inputs, the stem of its name and the number of its results.
Emit = Callable[..., list[str]]


def slices(
    emit: Emit, name: str, length: int, axis: int, backwards: bool, stem: str
) -> list[str]:
    """The slices of a value of this length along an axis, without that axis."""
    if not length:
        return []
    sizes = (1,) * length
    parts_stem = f"{stem}.parts"
    parts = emit("Split", [name, sizes], parts_stem, length, axis=axis)
    squeezed = []
    for part in parts:
        squeezed += emit("Squeeze", [part, (axis,)], stem)
    if backwards:
        squeezed.reverse()
    return squeezed


def stacked(emit: Emit, rows: Sequence[str], axis: int, stem: str) -> str:
    """The rows as one value with a new axis."""
    columns = []
    row_stem = f"{stem}.row"
    for row in rows:
        columns += emit("Unsqueeze", [row, (axis,)], row_stem)
    (stack,) = emit("Concat", columns, stem, axis=axis)
    return stack
