"""The tables of a benchmark of convolutions, and the sentence that comes first."""

from collections.abc import Sequence

from ...costs.units import nbytes
from ...reports.blocks import Block, Bullets, PageOnly, Sentence, Table
from ...reports.tables import NOTHING, measured, number
from ...reports.text import Code, Text, clean, shortened
from .numbers import ConvolutionCell

Cells = Sequence[ConvolutionCell]
LONGEST_TITLE = 100
MOST_SHOWN = 6  # tables in the terminal
HEADERS = [
    "computed by",
    "median [interval], n",
    "to torch's best",
    "GF/s direct",
    "GF/s done",
    "workspace",
    "error",
]
LEGEND = [
    "Shapes: images NxCxHxW, filters KxRxS. Directions: forward, data (gradient by the images), filter (by the "
    "filters).",
    "GF/s direct divide the operations of the direct algorithm by the time, whatever was done: they compare times, and "
    "may exceed the machine's peak. GF/s done count the operations that were done, which the roofline limits.",
    "Ratios are of times, to the faster of PyTorch's layouts by its median: below 1 is faster than PyTorch. Reordering "
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
    """The one with the smallest ratio to the rival, which is 1 to itself; without a rival, with the least time."""
    if all(cell.rival is None for cell in cells):
        return min(cells, key=lambda cell: cell.seconds, default=None)
    return min(cells, key=lambda cell: 1.0 if cell.ratio is None else cell.ratio)


def winners(cells: Cells) -> Table:
    """Our fastest of every convolution beside PyTorch's."""
    rows: list[list[Text]] = []
    for (shape, direction), own in by_place(cells).items():
        ours = fastest([cell for cell in own if not cell.native])
        native = fastest([cell for cell in own if cell.native])
        rows.append(
            [
                Code(clean(shape)),
                direction,
                clean(ours.candidate) if ours else NOTHING,
                _ratio(ours) if ours else NOTHING,
                clean(native.candidate) if native else NOTHING,
            ]
        )
    headers = ["shape", "direction", "our fastest", "to torch's best", "torch's best"]
    return Table(headers, rows, "lllrl")


def tables(cells: Cells) -> list[Block]:
    """A table for every convolution in every direction; only a page shows many."""
    places: dict[tuple[str, str], list[ConvolutionCell]] = {}
    for cell in cells:
        places.setdefault((cell.shape, cell.direction), []).append(cell)
    blocks: list[Block] = []
    for (shape, direction), own in places.items():
        introduction: Text = [Code(clean(shape)), f", {direction}:"]
        blocks += [Sentence(introduction), _table(own)]
    if len(places) <= MOST_SHOWN:
        return [*blocks, Bullets(LEGEND)]
    return [PageOnly(blocks), Bullets(LEGEND)]


def _table(cells: Cells) -> Table:
    rows: list[list[Text]] = []
    for cell in cells:
        rows.append(
            [
                clean(cell.candidate),
                measured(cell.seconds, cell.low, cell.high, cell.n),
                _ratio(cell),
                _giga(cell.direct_rate),
                _giga(cell.done_rate),
                NOTHING if cell.workspace is None else nbytes(cell.workspace),
                NOTHING if cell.error is None else f"{cell.error:.0e}",
            ]
        )
    return Table(HEADERS, rows, "lrrrrrr")


def _ratio(cell: ConvolutionCell) -> str:
    if cell.ratio is None:
        return NOTHING
    if cell.ratio_low is None or cell.ratio_high is None:
        return number(cell.ratio, 2)
    return f"{cell.ratio:.2f} [{cell.ratio_low:.2f}, {cell.ratio_high:.2f}]"


def _giga(rate: float | None) -> str:
    return NOTHING if rate is None else number(rate / 1e9)
