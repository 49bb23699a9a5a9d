"""How much of its bound every node takes, in the order of the network: a picture of where frameworks diverge."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...check.report import CheckReport, CheckResult
from ...reports.blocks import Picture
from ...reports.canvas import INK, colour, figure, number_axis, settings, svg
from ...reports.text import clean, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIRECTIONS = ("forward", "backward")
LEAST, MOST = 1e-4, 1e6  # a share outside of these is drawn at the edge
TITLE = "Error of every node as a share of its bound"
LONGEST_NAME = 30
CAPTION = (
    "A dot is one node, in the order of the network: its error as a share of what rounding explains for it. "
    "Dashed: the bound. A node above it is wrong; the first of every framework is named."
)


def shares(sides: Sequence[CheckReport]) -> list[Picture]:
    """One panel per direction, one colour per framework."""
    directions = []
    for direction in DIRECTIONS:
        if any(_judged(side, direction) for side in sides):
            directions.append(direction)
    if not directions:
        return []
    with settings():
        canvas = figure(0.6 + 1.9 * len(directions))
        panels = canvas.subplots(len(directions), squeeze=False).ravel()
        for axes, direction in zip(panels, directions, strict=True):
            _panel(axes, direction, sides)
        image = svg(canvas, "shares", TITLE)
    return [Picture("shares", TITLE, image, CAPTION)]


def _judged(side: CheckReport, direction: str) -> list[CheckResult]:
    """The checks in one direction that have a bound."""
    judged = []
    for check in side.checks:
        if check.name == direction and check.bound:
            judged.append(check)
    return judged


def _panel(axes: "Axes", direction: str, sides: Sequence[CheckReport]) -> None:
    axes.set_title(direction, loc="left")
    axes.axhline(1.0, color=INK, lw=1.3, ls=(0, (5, 3)))
    highest = 1.0
    for number, side in enumerate(sides):
        checks = _judged(side, direction)
        if direction == "backward":
            checks.reverse()  # which came from the last node to the first
        heights = [min(max(check.share, LEAST), MOST) for check in checks]
        highest = max([highest, *heights])
        ink = colour(number)
        places = range(len(heights))
        label = clean(side.where)
        axes.plot(places, heights, "o", ms=3.5, color=ink, alpha=0.8, label=label)
        _name_first(axes, checks, heights, ink)
    number_axis(axes, "y", LEAST, 10 * highest, log=True)
    axes.set_ylabel("share of the bound")
    axes.set_xlabel("node")
    axes.grid(axis="y")
    axes.legend(
        loc="upper right",
        bbox_to_anchor=(1.0, 1.2),
        fontsize=8,
        frameon=False,
        ncols=len(sides),
    )


def _name_first(
    axes: "Axes",
    checks: Sequence[CheckResult],
    heights: Sequence[float],
    ink: str,
) -> None:
    """Write the name of the first node that is wrong beside its dot."""
    for place, check in enumerate(checks):
        if check.ok is False:
            name = shortened(clean(check.case), LONGEST_NAME)
            axes.annotate(
                name,
                (place, heights[place]),
                (4, 2),
                textcoords="offset points",
                color=ink,
            )
            return
