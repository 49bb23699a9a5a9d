"""Figures as small, deterministic SVG text that works in a light or dark page and beside other SVGs."""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .tables import unit_of
from .text import clean, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#767676"  # a mid-grey that is legible on white and on black; a page may replace it by its own colour
# Okabe and Ito's palette, told apart with every kind of colour blindness, without its black and yellow.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MOST_ENTRIES = 12
LONGEST_LABEL = 30  # pictures shorten longer names; tables then number them
WIDTH = 7.4  # inches
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "deep500",
    "path.simplify": False,
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.unicode_minus": True,
    "grid.color": INK,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
}


@contextmanager
def settings() -> Iterator[None]:
    """Draw with the project's looks; what the process had set before is restored."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # The browser sets the text, so a glyph that is missing here may well be there.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def figure(height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def svg(figure: "Figure", name: str, description: str) -> str:
    """The figure as an SVG element; ids carry the name, so that several fit into one page."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.StringIO()
    FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})
    text = file.getvalue()
    text = _smaller(text[text.index("<svg") :])
    used = set(re.findall(r"#([\w-]+)[\")]", text))
    text = re.sub(
        r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "", text
    )
    text = re.sub(r'(url\(|href=")#', rf"\1#{name}-", text)
    return text.replace(
        "<svg ",
        f'<svg role="img" aria-label="{description}" style="font-family: {_FONTS}" ',
        1,
    )


def _smaller(text: str) -> str:
    """The same picture in about half the bytes."""
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"<[^>]*>", _shorter_numbers, text)
    # A dot is a line of no length with round ends; a tenth of a point is precise enough for it.
    text = re.sub(r"M (\d+\.\d)\d* (\d+\.\d)\d* \nL \1\d* \2\d* \n", r"M\1 \2h0", text)
    text = re.sub(r"\s*\n?([MLQCz])\s+(?=[\d\"-])", r"\1", text)
    # The font is said once for all, rotations by nothing do nothing, and joins of thin lines look all the same.
    text = re.sub(
        r" font-family: 'DejaVu Sans';| transform=\"rotate\(-0 .*?\)\"| ?stroke-linejoin: miter;?",
        "",
        text,
    )
    return re.sub(r"\s*\n\s*", "\n", text)


def _shorter_numbers(tag: re.Match[str]) -> str:
    """Coordinates in a tag to a hundredth of a point; text between tags is what a reader sees, and stays."""
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", tag[0])


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def dashes(index: int) -> Any:
    """After the colours are used up, the line tells entries apart."""
    return ("-", (0, (4, 1.5)))[index // len(COLOURS) % 2]


def labels(names: Sequence[str], most: int = LONGEST_LABEL) -> dict[str, str]:
    """Names short enough for a picture, with their number in the table where any had to be shortened."""
    short = {name: shortened(clean(name), most) for name in names}
    return (
        {name: f"{i}. {text}" for i, (name, text) in enumerate(short.items(), 1)}
        if numbered(names)
        else short
    )


def time_axis(axes: "Axes", which: str, low: float, high: float, log: bool) -> str:
    """Give the axis from low to high ticks in one unit (or each its own, if logarithmic); returns the unit's name."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    if log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    (axes.set_xlim if which == "x" else axes.set_ylim)(low, high)
    scale, unit = unit_of(high)
    if log:
        many = high / low > (500 if which == "x" else 20)
        axis.set_major_locator(LogLocator(subs=(1.0,) if many else (1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda v, _: _short_time(v)))
        return "log scale"
    axis.set_major_locator(
        MaxNLocator(6 if which == "x" else 3, steps=(1, 2, 2.5, 5, 10))
    )
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v / scale:.10g}"))
    return unit


def number_axis(axes: "Axes", which: str, low: float, high: float, log: bool) -> str:
    """Give the axis room around low to high and plain numbers as ticks; returns "log scale" or nothing."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    set_scale, set_limits = (
        (axes.set_xscale, axes.set_xlim)
        if which == "x"
        else (axes.set_yscale, axes.set_ylim)
    )
    if log:
        set_scale("log")
        set_limits(low / 1.2, high * 1.2)
        axis.set_major_locator(
            LogLocator(subs=(1.0,) if high / low > 500 else (1.0, 3.0))
        )
        axis.set_minor_locator(NullLocator())
    else:
        room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
        set_limits(low - room, high + room)
        axis.set_major_locator(MaxNLocator(6, steps=(1, 2, 2.5, 5, 10)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.6g}"))
    return "log scale" if log else ""


def _short_time(x: float) -> str:
    scale, unit = unit_of(x)
    return f"{x / scale:.4g} {unit}"


def numbered(names: Sequence[str]) -> bool:
    """Whether a name is too long for a picture, so that pictures and tables number all of them."""
    return any(len(clean(name)) > LONGEST_LABEL for name in names)
