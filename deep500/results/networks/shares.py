"""How much of its bound every node takes, in the order of the network: a picture of where frameworks diverge."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...reports.blocks import Picture
from ...reports.canvas import INK, colour, figure, number_axis, settings, svg
from ...reports.text import clean, shortened
from ...validation.networks.checking.report import NodeCheck, Side

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIRECTIONS = ("forward", "backward")
LEAST, MOST = (
    1e-4,
    1e6,
)  # of a share that is drawn; what lies outside is drawn at the edge
LONGEST_NAME = 30
CAPTION = (
    "A dot is one node, in the order of the network: its error as a share of what rounding explains for it. "
    "Dashed: the bound. A node above it is wrong; the first of every framework is named."
)


def shares(sides: Sequence[Side]) -> list[Picture]:
    """One panel per direction, one colour per framework."""
    drawn = [name for name in DIRECTIONS if any(_judged(side, name) for side in sides)]
    if not drawn:
        return []
    with settings():
        canvas = figure(0.6 + 1.9 * len(drawn))
        panels = canvas.subplots(len(drawn), squeeze=False).ravel()
        for axes, direction in zip(panels, drawn, strict=True):
            _panel(axes, direction, sides)
        image = svg(canvas, "shares", "Error of every node as a share of its bound")
    return [
        Picture("shares", "Error of every node as a share of its bound", image, CAPTION)
    ]


def _judged(side: Side, direction: str) -> list[NodeCheck]:
    return [
        check for check in side.checks if check.direction == direction and check.bound
    ]


def _panel(axes: "Axes", direction: str, sides: Sequence[Side]) -> None:
    axes.set_title(direction, loc="left")
    axes.axhline(1.0, color=INK, lw=1.3, ls=(0, (5, 3)))
    highest = 1.0
    for number, side in enumerate(sides):
        checks = _judged(side, direction)
        if direction == "backward":
            checks.reverse()  # which came from the last node to the first
        heights = [min(max(check.share, LEAST), MOST) for check in checks]
        highest = max([highest, *heights])
        ink, label = colour(number), clean(side.framework)
        axes.plot(
            range(len(heights)), heights, "o", ms=3.5, color=ink, alpha=0.8, label=label
        )
        _name_first(axes, checks, heights, ink)
    number_axis(axes, "y", LEAST, 10 * highest, log=True)
    axes.set_ylabel("share of the bound")
    axes.set_xlabel("node")
    axes.grid(axis="y")
    above = (1.0, 1.2)
    axes.legend(
        loc="upper right",
        bbox_to_anchor=above,
        fontsize=8,
        frameon=False,
        ncols=len(sides),
    )


def _name_first(
    axes: "Axes", checks: Sequence[NodeCheck], heights: Sequence[float], ink: str
) -> None:
    for place, check in enumerate(checks):
        if check.ok is False:
            name = shortened(clean(check.node), LONGEST_NAME)
            above = (4, 2)
            axes.annotate(
                name,
                (place, heights[place]),
                above,
                textcoords="offset points",
                color=ink,
            )
            return
