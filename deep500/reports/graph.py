"""A directed graph as an SVG: boxes in layers, edges as lines; needs nothing but text."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .canvas import COLOURS, INK
from .layers import BOX, Edge, Layout, Slot, arrange
from .text import clean, shortened

HEIGHT, STEP = 34.0, 58.0  # of a box, and from one layer to the next
MARGIN, GUTTER = 24.0, 46.0  # around everything, and between columns
LONGEST = 25  # characters in a box
PLAIN = "#9a9a9a"


@dataclass(frozen=True)
class Box:
    """What is drawn of a node: a title, a line below it, a colour by its kind, and how heavy it is (0 to 1)."""

    title: str
    text: str = ""
    kind: int | None = None
    weight: float = 0.0
    is_value: bool = False  # an input or output of the whole: rounded
    hint: str = ""  # shown when the mouse is over it


def graph_svg(title: str, boxes: Sequence[Box], edges: Sequence[Edge]) -> str:
    """The picture; edges are pairs of positions in `boxes`."""
    layout = arrange(len(boxes), edges)
    starts = [
        MARGIN + sum(layout.widths[:c]) + c * GUTTER for c in range(len(layout.widths))
    ]
    width = starts[-1] + layout.widths[-1] + MARGIN
    height = 2 * MARGIN + 20 + layout.rows * STEP
    drawing = _Drawing(layout, starts)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" font-family="sans-serif">',
        f"<title>{_text(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="{MARGIN}" font-size="14" fill="#333">{_text(title)}</text>',
        f'<g fill="none" stroke="{INK}" stroke-width="1.2">',
        *(drawing.inside(path) for path in layout.paths.values()),
        "</g>",
        f'<g fill="none" stroke="{COLOURS[3]}" stroke-width="1.2" stroke-dasharray="5 3">',
        *(drawing.across(edge) for edge in layout.crossing),
        "</g>",
        *(drawing.box(i, box) for i, box in enumerate(boxes)),
        "</svg>",
    ]
    return "\n".join(parts)


class _Drawing:
    def __init__(self, layout: Layout, starts: Sequence[float]):
        self.layout, self.starts = layout, starts

    def _at(self, slot: Slot, column: int) -> tuple[float, float]:
        """The middle of a slot's upper edge."""
        return self.starts[column] + slot.x, MARGIN + 20 + slot.layer * STEP

    def inside(self, path: Sequence[Slot]) -> str:
        column = self.layout.columns[path[0].box or 0]
        x, y = self._at(path[0], column)
        y += HEIGHT
        words = [f"M{x:.1f} {y:.1f}"]
        for slot in path[1:]:
            next_x, next_y = self._at(slot, column)
            half = (y + next_y) / 2
            words.append(
                f"C{x:.1f} {half:.1f} {next_x:.1f} {half:.1f} {next_x:.1f} {next_y:.1f}"
            )
            x, y = next_x, next_y
            if slot.box is None:
                y += HEIGHT
                words.append(f"V{y:.1f}")
        return f'<path d="{" ".join(words)}"/>'

    def across(self, edge: Edge) -> str:
        """From a box to the top of another one in another column, through the gutter before that column."""
        start, end = edge
        columns, slots = self.layout.columns, self.layout.slots
        x, y = self._at(slots[start], columns[start])
        target_x, target_y = self._at(slots[end], columns[end])
        gutter = self.starts[columns[end]] - GUTTER / 2
        above = target_y - 10
        return (
            f'<path d="M{x:.1f} {y + HEIGHT:.1f} v8 H{gutter:.1f} V{above:.1f} '
            f'H{target_x:.1f} V{target_y:.1f}"/>'
        )

    def box(self, i: int, box: Box) -> str:
        slot = self.layout.slots[i]
        x, y = self._at(slot, self.layout.columns[i])
        colour = PLAIN if box.kind is None else COLOURS[box.kind % len(COLOURS)]
        radius = HEIGHT / 2 if box.is_value else 5
        opacity = 0.06 + 0.5 * min(1.0, box.weight)
        left = x - BOX / 2
        return (
            f"<g><title>{_text(box.hint or box.title)}</title>"
            f'<rect x="{left:.1f}" y="{y:.1f}" width="{BOX}" height="{HEIGHT}" rx="{radius}" fill="white"/>'
            f'<rect x="{left:.1f}" y="{y:.1f}" width="{BOX}" height="{HEIGHT}" rx="{radius}" '
            f'fill="{colour}" fill-opacity="{opacity:.2f}" stroke="{colour}"/>'
            f'<text x="{x:.1f}" y="{y + 14:.1f}" text-anchor="middle" font-size="11" fill="#222">'
            f"{_label(box.title)}</text>"
            f'<text x="{x:.1f}" y="{y + 27:.1f}" text-anchor="middle" font-size="9.5" fill="#555">'
            f"{_label(box.text, LONGEST + 6)}</text></g>"
        )


def _label(text: str, most: int = LONGEST) -> str:
    return escape(shortened(clean(text), most))


def _text(text: str) -> str:
    return escape(clean(text))
