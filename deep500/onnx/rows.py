"""What loops take apart and collect: the slices of a value along an axis, and rows stacked to one value."""

from collections.abc import Callable, Sequence

Emit = Callable[
    ..., list[str]
]  # a node: its operator, inputs, the stem of its name, how many results


def slices(
    emit: Emit, name: str, length: int, axis: int, backwards: bool, stem: str
) -> list[str]:
    """The slices of a value of this length along an axis, which they lack."""
    if not length:
        return []
    parts = emit("Split", [name, (1,) * length], f"{stem}.parts", length, axis=axis)
    found = [emit("Squeeze", [part, (axis,)], stem)[0] for part in parts]
    return found[::-1] if backwards else found


def stacked(emit: Emit, rows: Sequence[str], axis: int, stem: str) -> str:
    """The rows as one value with a new axis."""
    columns = [emit("Unsqueeze", [row, (axis,)], f"{stem}.row")[0] for row in rows]
    return emit("Concat", columns, stem, axis=axis)[0]
