"""Where the boxes of a directed graph go: in layers from top to bottom, in columns where that would be too tall."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

BOX, LINE = 168.0, 18.0  # widths of a box, and of an edge that passes a layer
GAP = 16.0  # between neighbours in a layer
TALLEST = 30  # layers in a column
SWEEPS = 6
Edge = tuple[int, int]


@dataclass
class Slot:
    """A place in a layer: of a box, or of an edge that passes by."""

    box: int | None
    layer: int
    x: float = 0.0
    above: list["Slot"] = field(default_factory=list)
    below: list["Slot"] = field(default_factory=list)

    @property
    def width(self) -> float:
        return LINE if self.box is None else BOX


@dataclass(frozen=True)
class Layout:
    """The slot and column of every box, the slots that each edge passes, and how many there are."""

    slots: Sequence[Slot]
    columns: Sequence[int]
    paths: dict[Edge, list[Slot]]  # of edges inside a column
    crossing: Sequence[Edge]  # edges from one column to another
    widths: Sequence[float]  # of the columns
    rows: int  # layers of the tallest column


def arrange(count: int, edges: Sequence[Edge]) -> Layout:
    """A place for so many boxes, given in an order in which most edges point forward."""
    layers = _layers(count, edges)
    depth = max(layers, default=0) + 1
    columns_needed = -(-depth // TALLEST)
    tall = -(-depth // columns_needed)
    columns = [layer // tall for layer in layers]
    slots = [Slot(i, layers[i] % tall) for i in range(count)]
    inside = [edge for edge in edges if columns[edge[0]] == columns[edge[1]]]
    crossing = [edge for edge in edges if columns[edge[0]] != columns[edge[1]]]
    paths = {edge: _path(slots, edge) for edge in inside}
    widths = [
        _place(
            [slot for slot, column in zip(slots, columns, strict=True) if column == c],
            paths,
        )
        for c in range(columns_needed)
    ]
    return Layout(slots, columns, paths, crossing, widths, tall)


def _layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """The longest way from a source; a source stands right above what uses it first."""
    before, after = defaultdict(list), defaultdict(list)
    for start, end in edges:
        if start < end:  # one that points back is drawn, and decides on nothing
            before[end].append(start)
            after[start].append(end)
    layers = [0] * count
    for box in range(count):
        layers[box] = max((layers[b] + 1 for b in before[box]), default=0)
    for box in range(count):
        if not before[box] and after[box]:
            layers[box] = max(0, min(layers[b] for b in after[box]) - 1)
    return layers


def _path(slots: Sequence[Slot], edge: Edge) -> list[Slot]:
    """The slots from one box to the other, with new ones in the layers between."""
    start, end = slots[edge[0]], slots[edge[1]]
    path = [start]
    for layer in range(start.layer + 1, end.layer):
        path.append(Slot(None, layer))
    path.append(end)
    for upper, lower in pairwise(path):
        upper.below.append(lower)
        lower.above.append(upper)
    return path


def _place(boxes: Sequence[Slot], paths: dict[Edge, list[Slot]]) -> float:
    """Order the slots of one column and give them their x; returns its width."""
    own = {id(slot) for slot in boxes}
    rows: dict[int, list[Slot]] = defaultdict(list)
    for slot in boxes:
        rows[slot.layer].append(slot)
    for path in paths.values():
        if id(path[0]) in own:
            for slot in path[1:-1]:
                rows[slot.layer].append(slot)
    for row in rows.values():
        _spread(row)
    for sweep in range(SWEEPS):
        for layer in sorted(rows, reverse=bool(sweep % 2)):
            _sort(rows[layer], down=sweep % 2 == 0)
    for sweep in range(SWEEPS):
        for layer in sorted(rows, reverse=bool(sweep % 2)):
            _align(rows[layer])
    left = min((s.x - s.width / 2 for row in rows.values() for s in row), default=0.0)
    for row in rows.values():
        for slot in row:
            slot.x -= left
    return max((s.x + s.width / 2 for row in rows.values() for s in row), default=0.0)


def _spread(row: Sequence[Slot]) -> None:
    """One beside the other, in the middle."""
    x = -sum(slot.width + GAP for slot in row) / 2
    for slot in row:
        slot.x = x + slot.width / 2
        x += slot.width + GAP


def _sort(row: list[Slot], down: bool) -> None:
    """By where the neighbours in the layer before are."""

    def middle(slot: Slot) -> float:
        others = slot.above if down else slot.below
        return sum(other.x for other in others) / len(others) if others else slot.x

    row.sort(key=middle)
    _spread(row)


def _align(row: Sequence[Slot]) -> None:
    """Towards the middle of the neighbours, as far as the others in the layer allow."""
    wanted = []
    for slot in row:
        others = slot.above + slot.below
        wanted.append(
            sum(other.x for other in others) / len(others) if others else slot.x
        )
    for slot, x in zip(row, wanted, strict=True):
        slot.x = x
    for left, right in pairwise(row):
        right.x = max(right.x, left.x + (left.width + right.width) / 2 + GAP)
    shift = sum(x - slot.x for slot, x in zip(row, wanted, strict=True)) / len(row)
    for slot in row:
        slot.x += shift
