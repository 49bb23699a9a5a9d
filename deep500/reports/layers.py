"""Where the boxes of a directed graph go: in layers from top to bottom, in columns where that would be too tall."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

BOX, LINE = 168.0, 18.0  # widths of a box, and of an edge that passes a layer
GAP = 16.0  # between neighbours in a layer
TALLEST = 30  # layers in a column
SWEEPS = 6
Edge = tuple[int, int]


@dataclass
class LayerSlot:
    """A place in a layer: of a box, or of an edge that passes by."""

    box: int | None
    layer: int
    x: float = 0.0
    above: list["LayerSlot"] = field(default_factory=list)
    below: list["LayerSlot"] = field(default_factory=list)

    @property
    def width(self) -> float:
        return LINE if self.box is None else BOX

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True)
class LayerLayout:
    """The slot and column of every box, the slots that each edge passes, and how many there are."""

    slots: Sequence[LayerSlot]
    columns: Sequence[int]
    paths: dict[Edge, list[LayerSlot]]  # of edges inside a column
    crossing: Sequence[Edge]  # edges from one column to another
    widths: Sequence[float]  # of the columns
    rows: int  # layers of the tallest column


def arrange(count: int, edges: Sequence[Edge]) -> LayerLayout:
    """A place for each of `count` boxes, whose order should let most edges point forward."""
    layers = _layers(count, edges)
    depth = max(layers, default=0) + 1
    columns_needed = _divided_up(depth, TALLEST)
    rows = _divided_up(depth, columns_needed)
    columns = [layer // rows for layer in layers]
    slots = [LayerSlot(box, layer % rows) for box, layer in enumerate(layers)]
    paths: dict[Edge, list[LayerSlot]] = {}
    crossing = []
    for start, end in edges:
        if columns[start] != columns[end]:
            crossing.append((start, end))
        else:
            paths[start, end] = _path(slots[start], slots[end])
    boxes: list[list[LayerSlot]] = [[] for _ in range(columns_needed)]
    for slot, column in zip(slots, columns, strict=True):
        boxes[column].append(slot)
    widths = [_place(boxes_of_column, paths) for boxes_of_column in boxes]
    return LayerLayout(slots, columns, paths, crossing, widths, rows)


def _divided_up(n: int, divisor: int) -> int:
    """n / divisor, rounded up."""
    return -(-n // divisor)


def _layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """The length of the longest path from a source; a source stands right above the first box that uses it."""
    before = defaultdict(list)
    after = defaultdict(list)
    for start, end in edges:
        if start < end:  # an edge that points back is drawn, but moves no box
            before[end].append(start)
            after[start].append(end)
    layers = [0] * count
    for box in range(count):
        for source in before[box]:
            below_source = layers[source] + 1
            layers[box] = max(layers[box], below_source)
    for box in range(count):
        if not before[box] and after[box]:
            first_user = min(layers[user] for user in after[box])
            layers[box] = max(0, first_user - 1)
    return layers


def _path(start: LayerSlot, end: LayerSlot) -> list[LayerSlot]:
    """The slots from one box to the other, with new ones in the layers between."""
    path = [start]
    for layer in range(start.layer + 1, end.layer):
        path.append(LayerSlot(None, layer))
    path.append(end)
    for upper, lower in pairwise(path):
        upper.below.append(lower)
        lower.above.append(upper)
    return path


def _place(boxes: Sequence[LayerSlot], paths: dict[Edge, list[LayerSlot]]) -> float:
    """Order the slots of one column and set their x; returns the width of the column."""
    rows = _rows(boxes, paths)
    for row in rows.values():
        _spread(row)
    for sweep in range(SWEEPS):
        upwards = sweep % 2 == 1
        for layer in sorted(rows, reverse=upwards):
            _sort(rows[layer], down=not upwards)
    for sweep in range(SWEEPS):
        upwards = sweep % 2 == 1
        for layer in sorted(rows, reverse=upwards):
            _align(rows[layer])
    slots = list(chain.from_iterable(rows.values()))
    if not slots:
        return 0.0
    leftmost = min(slot.left for slot in slots)
    for slot in slots:
        slot.x -= leftmost
    return max(slot.right for slot in slots)


def _rows(
    boxes: Sequence[LayerSlot], paths: dict[Edge, list[LayerSlot]]
) -> dict[int, list[LayerSlot]]:
    """The slots of one column by their layer: those of its boxes, then those of the edges between them."""
    rows: dict[int, list[LayerSlot]] = defaultdict(list)
    for slot in boxes:
        rows[slot.layer].append(slot)
    ids_of_boxes = {id(slot) for slot in boxes}
    for path in paths.values():
        if id(path[0]) not in ids_of_boxes:
            continue
        for slot in path[1:-1]:
            rows[slot.layer].append(slot)
    return rows


def _spread(row: Sequence[LayerSlot]) -> None:
    """Put the slots side by side, centred."""
    total = sum(slot.width + GAP for slot in row)
    x = -total / 2
    for slot in row:
        slot.x = x + slot.width / 2
        x += slot.width + GAP


def _sort(row: list[LayerSlot], down: bool) -> None:
    """Order the slots by the mean x of their neighbours in the layer before."""

    def position(slot: LayerSlot) -> float:
        neighbours = slot.above if down else slot.below
        return _mean_x(neighbours, slot.x)

    row.sort(key=position)
    _spread(row)


def _align(row: Sequence[LayerSlot]) -> None:
    """Move the slots towards the mean x of their neighbours, as far as the others in the layer allow."""
    targets = [_mean_x(slot.above + slot.below, slot.x) for slot in row]
    for slot, target in zip(row, targets, strict=True):
        slot.x = target
    for slot, neighbour in pairwise(row):
        half_widths = (slot.width + neighbour.width) / 2
        neighbour.x = max(neighbour.x, slot.x + half_widths + GAP)
    misses = []
    for slot, target in zip(row, targets, strict=True):
        misses.append(target - slot.x)
    mean_miss = sum(misses) / len(row)
    for slot in row:
        slot.x += mean_miss


def _mean_x(slots: Sequence[LayerSlot], default: float) -> float:
    if not slots:
        return default
    total = sum(slot.x for slot in slots)
    return total / len(slots)
