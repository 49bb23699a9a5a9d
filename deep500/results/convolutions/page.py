"""The tables of a benchmark of convolutions, and the sentence that comes first."""

from collections.abc import Sequence

from ...costs.units import nbytes
from ...reports.blocks import Bullets, Table
from ...reports.tables import NOTHING, measured, number
from ...reports.text import Code, Text, clean, shortened
from .numbers import ConvolutionCell

Cells = Sequence[ConvolutionCell]
LONGEST_TITLE = 100
HEADERS = [
    "shape",
    "direction",
    "computed by",
    "median [interval], n",
    "ratio to PyTorch's best",
    "GF/s of the direct count",
    "GF/s of operations done",
    "workspace",
    "error",
]
LEGEND = [
    "Shapes: images NxCxHxW, filters KxRxS. Directions: forward, data (gradient by the images), filter (by the "
    "filters).",
    "GF/s of the direct count divide the operations of the direct algorithm by the time, whatever was done: they "
    "compare times, and may exceed the machine's peak. GF/s of operations done are what the roofline limits.",
    "Ratios are to the faster of PyTorch's layouts, chosen by its median: below 1 is faster than PyTorch. Reordering "
    "between the layouts is not in PyTorch's times; it has a row of its own.",
    "Errors are the largest of some elements against sums in float64, per the largest element. PyTorch does not tell "
    "its workspace.",
]


def answer(cells: Cells) -> str:
    """In how many places each wins."""
    places = by_place(cells)
    wins: dict[str, int] = {}
    for own in places.values():
        winner = fastest(own)
        if winner:
            wins[winner.candidate] = wins.get(winner.candidate, 0) + 1
    order = sorted(wins, key=lambda name: -wins[name])
    listed = ", ".join(f"{clean(name)} in {wins[name]}" for name in order)
    return f"fastest of {len(places)} convolutions: {listed}"


def title(cells: Cells) -> str:
    shapes = dict.fromkeys(clean(cell.shape) for cell in cells)
    return shortened(" · ".join(shapes), LONGEST_TITLE)


def by_place(cells: Cells) -> dict[tuple[str, str], list[ConvolutionCell]]:
    """The ways to compute each convolution in each direction."""
    places: dict[tuple[str, str], list[ConvolutionCell]] = {}
    for cell in cells:
        if cell.direct_rate is not None:  # not a reordering
            places.setdefault((cell.shape, cell.direction), []).append(cell)
    return places


def fastest(cells: Cells) -> ConvolutionCell | None:
    return min(cells, key=lambda cell: cell.seconds, default=None)


def winners(cells: Cells) -> Table:
    """The fastest of every convolution, and our fastest beside PyTorch's."""
    rows: list[list[Text]] = []
    for (shape, direction), own in by_place(cells).items():
        ours = fastest([cell for cell in own if not cell.native])
        native = fastest([cell for cell in own if cell.native])
        winner = fastest(own)
        assert winner is not None  # a place has a cell
        rows.append(
            [
                Code(clean(shape)),
                direction,
                clean(winner.candidate),
                clean(ours.candidate) if ours else NOTHING,
                _ratio(ours) if ours else NOTHING,
                clean(native.candidate) if native else NOTHING,
            ]
        )
    headers = ["shape", "direction", "fastest", "ours", "ratio to PyTorch", "PyTorch's"]
    return Table(headers, rows, "llllrl")


def cell_table(cells: Cells) -> Table:
    rows: list[list[Text]] = []
    for cell in cells:
        rows.append(
            [
                Code(clean(cell.shape)),
                cell.direction,
                clean(cell.candidate),
                measured(cell.seconds, cell.low, cell.high, cell.n),
                _ratio(cell),
                _giga(cell.direct_rate),
                _giga(cell.done_rate),
                NOTHING if cell.workspace is None else nbytes(cell.workspace),
                NOTHING if cell.error is None else f"{cell.error:.1e}",
            ]
        )
    return Table(HEADERS, rows, "lllrrrrrr")


def legend() -> Bullets:
    return Bullets(LEGEND)


def _ratio(cell: ConvolutionCell) -> str:
    if cell.ratio is None:
        return NOTHING
    if cell.ratio_low is None or cell.ratio_high is None:
        return number(cell.ratio, 2)
    return f"{cell.ratio:.2f} [{cell.ratio_low:.2f}, {cell.ratio_high:.2f}]"


def _giga(rate: float | None) -> str:
    return NOTHING if rate is None else number(rate / 1e9)
