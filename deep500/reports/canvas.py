"""Figures as small, deterministic SVG text that works in a light or dark page and beside other SVGs."""

import io
import logging
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from .blocks import Picture
from .figure_files import keep
from .tables import unit_of
from .text import clean, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#767676"  # a mid-grey that is legible on white and on black; a page may replace it by its own colour
# Okabe and Ito's palette, which can be told apart with every kind of colour blindness, without black and yellow.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MOST_ENTRIES = 12
LONGEST_LABEL = 30  # pictures shorten longer names; tables then number them
T = TypeVar("T")
WIDTH = 7.4  # inches
# On a phone of 390 pixels, the text of a picture of this width is as large as the page's small text.
NARROW_WIDTH = 3.3
NARROW_LABEL = 38  # characters of a label that fit into it
_width = ContextVar("width", default=WIDTH)
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
_STEPS = (1, 2, 2.5, 5, 10)  # between ticks, up to a power of 10
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


def _without_folder_warnings() -> None:
    """In a home that cannot be written, Matplotlib uses a temporary folder, and warns whoever only wants a picture."""
    logging.getLogger("matplotlib").addFilter(_is_no_folder_warning)


def _is_no_folder_warning(record: logging.LogRecord) -> bool:
    return record.funcName != "_get_config_or_cache_dir"


@contextmanager
def settings() -> Iterator[None]:
    """Draw with this project's style; afterwards the settings of the process are restored."""
    _without_folder_warnings()
    import matplotlib

    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        # The browser draws the text, and may have a glyph that is missing here.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def drawn(artists: Iterable[Callable[[T], Picture | None]], data: T) -> list[Picture]:
    """The pictures that the data allow, one of each artist at most."""
    pictures = []
    with settings():
        for draw in artists:
            if picture := draw(data):
                pictures.append(picture)
    return pictures


@contextmanager
def narrow() -> Iterator[None]:
    """Draw for the screen of a phone."""
    token = _width.set(NARROW_WIDTH)
    try:
        yield
    finally:
        _width.reset(token)


def is_narrow() -> bool:
    return _width.get() < WIDTH


def wrapped(label: str) -> str:
    """A label in as many lines as a phone needs for it."""
    if not is_narrow():
        return label
    return textwrap.fill(label, NARROW_LABEL)


def for_phones_too(
    draw: Callable[[], Sequence[Picture]],
) -> list[Picture]:
    """The pictures, each also in a narrow form; `draw` is called for either."""
    pictures = draw()
    with narrow():
        narrow_ones = draw()
    both = []
    for picture, narrow_one in zip(pictures, narrow_ones, strict=True):
        both.append(replace(picture, narrow=narrow_one.svg))
    return both


def figure(height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(_width.get(), height), layout="constrained")


def legend_below(canvas: "Figure", columns: int, *entries: Any) -> None:
    """The names of all lines, below the picture."""
    if is_narrow():
        columns = 1
    canvas.legend(
        *entries,
        loc="outside lower left",
        ncols=columns,
        frameon=False,
        handlelength=2.4,
    )


def svg(figure: "Figure", name: str, description: str) -> str:
    """The figure as an SVG element; ids carry the name, so that several fit into one page."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    file = io.StringIO()
    FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})
    document = file.getvalue()
    start = document.index("<svg")
    if is_narrow():
        name = f"{name}-narrow"
    else:
        keep(figure, name)
    text = _with_ids_of(name, _smaller(document[start:]))
    attributes = f'role="img" aria-label="{description}" style="font-family: {_FONTS}"'
    return text.replace("<svg ", f"<svg {attributes} ", 1)


def _with_ids_of(name: str, text: str) -> str:
    """The SVG with the name before every id that is used, and without the other ids."""
    used = set(re.findall(r"#([\w-]+)[\")]", text))

    def renamed(attribute: re.Match[str]) -> str:
        old = attribute[1]
        return f' id="{name}-{old}"' if old in used else ""

    text = re.sub(r' id="([^"]*)"', renamed, text)
    return re.sub(r'(url\(|href=")#', rf"\1#{name}-", text)


def _smaller(text: str) -> str:
    """The same picture in about half the bytes."""
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"<[^>]*>", _shorter_numbers, text)
    # A dot is a line of no length with round ends; a tenth of a point is precise enough for it.
    text = re.sub(r"M (\d+\.\d)\d* (\d+\.\d)\d* \nL \1\d* \2\d* \n", r"M\1 \2h0", text)
    text = re.sub(r"\s*\n?([MLQCz])\s+(?=[\d\"-])", r"\1", text)
    # The root element sets the font, a rotation by 0 does nothing, and all joins of thin lines look the same.
    superfluous = r" font-family: 'DejaVu Sans';| transform=\"rotate\(-0 .*?\)\"| ?stroke-linejoin: miter;?"
    text = re.sub(superfluous, "", text)
    return re.sub(r"\s*\n\s*", "\n", text)


def _shorter_numbers(tag: re.Match[str]) -> str:
    """The tag with its coordinates cut to a hundredth of a point; the text between tags is not touched."""
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", tag[0])


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def dashes(index: int) -> Any:
    """The line style of an entry: dashed where the colours are used a second time."""
    solid = "-"
    dashed = (0, (4, 1.5))
    repetition = index // len(COLOURS)
    return dashed if repetition % 2 else solid


def labels(names: Sequence[str], most: int = LONGEST_LABEL) -> dict[str, str]:
    """Names short enough for a picture; if any is too long, all carry their number in the table."""
    short = {name: shortened(clean(name), most) for name in names}
    if not numbered(names):
        return short
    with_numbers = {}
    for i, (name, text) in enumerate(short.items(), 1):
        with_numbers[name] = f"{i}. {text}"
    return with_numbers


def time_axis(axes: "Axes", which: str, low: float, high: float, log: bool) -> str:
    """Give the axis from low to high ticks in one unit (each in its own, if logarithmic); returns the unit's name."""
    from matplotlib.ticker import (
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullLocator,
    )

    axis, set_scale, set_limits = _axis(axes, which)
    is_long = which == "x"
    if log:
        set_scale("log")
        set_limits(low, high)
        is_wide = high / low > (500 if is_long and not is_narrow() else 20)
        subdivisions = (1.0,) if is_wide else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=subdivisions))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda x, _: _short_time(x)))
        return "log scale"
    set_limits(low, high)
    scale, unit = unit_of(high)
    most_ticks = _most_ticks() if is_long else 3
    axis.set_major_locator(MaxNLocator(most_ticks, steps=_STEPS))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / scale:.10g}"))
    return unit


def number_axis(axes: "Axes", which: str, low: float, high: float, log: bool) -> str:
    """Give the axis room around low to high and plain numbers as ticks; returns "log scale" or nothing."""
    from matplotlib.ticker import (
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        NullLocator,
    )

    axis, set_scale, set_limits = _axis(axes, which)
    plain_number = FuncFormatter(lambda x, _: f"{x:.6g}")
    if log:
        set_scale("log")
        set_limits(low / 1.2, high * 1.2)
        subdivisions = (1.0,) if high / low > 500 else (1.0, 3.0)
        axis.set_major_locator(LogLocator(subs=subdivisions))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(plain_number)
        return "log scale"
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    set_limits(low - room, high + room)
    axis.set_major_locator(MaxNLocator(_most_ticks(), steps=_STEPS))
    axis.set_major_formatter(plain_number)
    return ""


def _most_ticks() -> int:
    return 3 if is_narrow() else 6


def _axis(axes: "Axes", which: str) -> tuple[Any, Any, Any]:
    """The x or y axis, with the methods that set its scale and its limits."""
    if which == "x":
        return axes.xaxis, axes.set_xscale, axes.set_xlim
    return axes.yaxis, axes.set_yscale, axes.set_ylim


def _short_time(x: float) -> str:
    scale, unit = unit_of(x)
    scaled = x / scale
    return f"{scaled:.4g} {unit}"


def numbered(names: Sequence[str]) -> bool:
    """Whether a name is too long for a picture, so that pictures and tables number all of them."""
    return any(len(clean(name)) > LONGEST_LABEL for name in names)
