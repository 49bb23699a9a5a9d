"""A directed graph as an SVG: boxes in layers, edges as lines; needs nothing but text."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .canvas import COLOURS, INK
from .layers import BOX, Edge, LayerLayout, LayerSlot, arrange
from .text import clean, shortened

HEIGHT, STEP = 34.0, 58.0  # of a box, and from one layer to the next
MARGIN, GUTTER = 24.0, 46.0  # around everything, and between columns
TITLE = 20  # height of the title
LONGEST = 25  # characters in a box
PLAIN = "#9a9a9a"
ACROSS = COLOURS[3]  # of edges between columns
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """What is drawn of a node: a title, a line below it, a colour by its kind, and how heavy it is (0 to 1)."""

    title: str
    text: str = ""
    kind: int | None = None
    weight: float = 0.0
    # an input or output of the whole graph: drawn rounded
    is_value: bool = False
    hint: str = ""  # shown when the mouse is over it


def graph_svg(title: str, boxes: Sequence[Box], edges: Sequence[Edge]) -> str:
    """The picture; edges are pairs of positions in `boxes`."""
    layout = arrange(len(boxes), edges)
    starts = _column_starts(layout.widths)
    width = starts[-1] + layout.widths[-1] + MARGIN
    height = 2 * MARGIN + TITLE + layout.rows * STEP
    drawing = _Drawing(layout, starts)
    lines = _header(title, width, height)
    lines.append(f'<g fill="none" stroke="{INK}" stroke-width="1.2">')
    for path in layout.paths.values():
        lines.append(drawing.inside(path))
    lines.append("</g>")
    lines.append(
        f'<g fill="none" stroke="{ACROSS}" stroke-width="1.2" stroke-dasharray="5 3">'
    )
    for edge in layout.crossing:
        lines.append(drawing.across(edge))
    lines.append("</g>")
    for i, box in enumerate(boxes):
        lines.append(drawing.box(i, box))
    lines.append("</svg>")
    return "\n".join(lines)


def _column_starts(widths: Sequence[float]) -> list[float]:
    """The x of every column's left edge."""
    starts = []
    for column in range(len(widths)):
        columns_before = sum(widths[:column])
        starts.append(MARGIN + columns_before + column * GUTTER)
    return starts


def _header(title: str, width: float, height: float) -> list[str]:
    w, h = f"{width:.0f}", f"{height:.0f}"
    size = f'viewBox="0 0 {w} {h}" width="{w}" height="{h}"'
    style = 'role="img" font-family="sans-serif"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>'
    background = '<rect width="100%" height="100%" fill="white"/>'
    text = _text(title)
    place = f'x="{MARGIN}" y="{MARGIN}"'
    heading = f'<text {place} font-size="14" fill="#333">{text}</text>'
    return [start, f"<title>{text}</title>", background, heading]


class _Drawing:
    def __init__(self, layout: LayerLayout, starts: Sequence[float]):
        self.layout = layout
        self.starts = starts

    def _top(self, slot: LayerSlot, column: int) -> Point:
        """The middle of a slot's upper edge."""
        x = self.starts[column] + slot.x
        y = MARGIN + TITLE + slot.layer * STEP
        return x, y

    def _top_of_box(self, i: int) -> Point:
        return self._top(self.layout.slots[i], self.layout.columns[i])

    def inside(self, path: Sequence[LayerSlot]) -> str:
        """An edge inside a column, through the slots of its path."""
        first, *others = path
        column = self.layout.columns[first.box or 0]
        x, y = self._top(first, column)
        y += HEIGHT
        commands = [f"M{_xy(x, y)}"]
        for slot in others:
            end_x, end_y = self._top(slot, column)
            half = (y + end_y) / 2
            # A curve that leaves and arrives vertically.
            control_points = f"{_xy(x, half)} {_xy(end_x, half)}"
            commands.append(f"C{control_points} {_xy(end_x, end_y)}")
            x, y = end_x, end_y
            if slot.box is None:
                y += HEIGHT
                commands.append(f"V{y:.1f}")
        return _path(" ".join(commands))

    def across(self, edge: Edge) -> str:
        """An edge to the top of a box in another column, through the gutter before that column."""
        start, end = edge
        x, y = self._top_of_box(start)
        target_x, target_y = self._top_of_box(end)
        gutter = self.starts[self.layout.columns[end]] - GUTTER / 2
        above = target_y - 10
        to_gutter = f"M{_xy(x, y + HEIGHT)} v8 H{gutter:.1f}"
        to_target = f"V{above:.1f} H{target_x:.1f} V{target_y:.1f}"
        return _path(f"{to_gutter} {to_target}")

    def box(self, i: int, box: Box) -> str:
        """The rectangle of a node with its two lines of text."""
        x, y = self._top_of_box(i)
        start = x - BOX / 2
        radius = HEIGHT / 2 if box.is_value else 5
        place = f'x="{start:.1f}" y="{y:.1f}"'
        frame = f'{place} width="{BOX}" height="{HEIGHT}" rx="{radius}"'
        colour = _colour(box)
        opacity = 0.06 + 0.5 * min(1.0, box.weight)
        fill = f'fill="{colour}" fill-opacity="{opacity:.2f}" stroke="{colour}"'
        parts = [
            f"<title>{_text(box.hint or box.title)}</title>",
            f'<rect {frame} fill="white"/>',
            f"<rect {frame} {fill}/>",
            _centred(x, y + 14, "11", "#222", _label(box.title, LONGEST)),
            _centred(x, y + 27, "9.5", "#555", _label(box.text, LONGEST + 6)),
        ]
        content = "".join(parts)
        return f"<g>{content}</g>"


def _xy(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}"


def _centred(x: float, y: float, size: str, colour: str, text: str) -> str:
    """A line of text with its middle at x."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="middle"'
    return f'<text {place} font-size="{size}" fill="{colour}">{text}</text>'


def _path(commands: str) -> str:
    return f'<path d="{commands}"/>'


def _colour(box: Box) -> str:
    if box.kind is None:
        return PLAIN
    return COLOURS[box.kind % len(COLOURS)]


def _label(text: str, most: int) -> str:
    return escape(shortened(clean(text), most))


def _text(text: str) -> str:
    return escape(clean(text))
