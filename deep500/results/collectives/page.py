"""The report of a benchmark of collectives."""

from collections.abc import Sequence

from ...contracts.result import Record
from ...errors import Deep500Error
from ...reports.blocks import (
    Banner,
    Block,
    Bullets,
    Figures,
    PageOnly,
    Problems,
    Report,
    Section,
    Table,
)
from ...reports.canvas import for_phones_too
from ...reports.surroundings import environment_section, raw_data
from ...reports.tables import NOTHING, measured, percent, ratio, seconds
from ...reports.text import Text, clean, counted
from .cautions import cautions
from .data import LIBRARIES, CollectiveLaunch, CollectivePlan
from .numbers import CellNumbers, CollectiveNumbers, Fit
from .pictures import pictures
from .samples import Measured
from .words import algorithm_name, nbytes, rate

PageRecord = Record[CollectivePlan, CollectiveLaunch, CollectiveNumbers]
LARGE = 2**20
TIMES = ["algorithm", "bytes", "time", "model", "bound", "library's time"]
DETAILS = [
    "algorithm",
    "bytes",
    "algbw (GB/s)",
    "busbw (GB/s)",
    "wire bytes",
    "memory",
    "memory (model)",
    "skew of arrival",
    "after the last arrival",
]


def page(record: PageRecord) -> Report:
    """Times, model and bound; then what they are made of."""
    numbers = record.derived
    if numbers is None:
        raise Deep500Error(
            f"{record.bundle} holds no launch yet: nothing was measured before it ended"
        )
    problems = [f"{clean(f.what)}: {clean(f.reason)}" for f in numbers.failures]
    figures = Figures(lambda: for_phones_too(lambda: pictures(numbers.cells)))
    blocks: list[Block] = [
        _banner(numbers),
        Problems(problems),
        PageOnly([figures]),
        *_time_sections(numbers.cells),
        Section("Network fitted to this machine", _fit_blocks(numbers.fits)),
        Section("Overlap", [_overlaps(numbers)]),
        Section("How it was measured", [Bullets(cautions(record.blocks))]),
        PageOnly([environment_section(record.environment)]),
        raw_data(record.bundle, record.hash),
    ]
    return Report("Deep500 collectives", "Collectives", blocks)


def _banner(numbers: CollectiveNumbers) -> Banner:
    """The best algorithm beside the library's own call, at the largest array that both reduced."""
    rivals = [cell for cell in numbers.cells if cell.ratio and cell.bytes >= LARGE]
    if not rivals:
        text = f"{counted(len(numbers.cells), 'case')} measured."
        return Banner(text, text)
    largest: dict[tuple[int, str], list[CellNumbers]] = {}
    for cell in sorted(rivals, key=lambda cell: -cell.bytes):
        own = largest.setdefault((cell.ranks, cell.transport), [cell])
        if cell.bytes == own[0].bytes and cell is not own[0]:
            own.append(cell)
    answers = []
    for (ranks, transport), own in largest.items():
        best = min(own, key=lambda cell: cell.seconds.value)
        answers.append(
            f"{ranks} ranks over {transport}, {nbytes(best.bytes)}: {algorithm_name(best)} takes "
            f"{ratio_text(best.ratio)} the time of the library's own call"
        )
    sentence = "; ".join(answers) + "."
    return Banner(sentence, sentence)


def _time_sections(cells: Sequence[CellNumbers]) -> list[Block]:
    """A table for every operation, number of ranks and transport."""
    groups: dict[str, list[CellNumbers]] = {}
    for cell in cells:
        title = f"{cell.operation}, {cell.ranks} ranks over {cell.transport}"
        groups.setdefault(title, []).append(cell)
    sections: list[Block] = []
    for title, own in groups.items():
        own.sort(key=lambda cell: (cell.bytes, cell.seconds.value))
        times = Table(TIMES, [_time_row(cell) for cell in own], "lrrrrr")
        details = Table(DETAILS, [_detail_row(cell) for cell in own], "lrrrrrrrr")
        sections.append(Section(title, [times, PageOnly([details])]))
    return sections


def _time_row(cell: CellNumbers) -> list[Text]:
    model = seconds(cell.model) if cell.model is not None else NOTHING
    if cell.held_out and cell.model is not None:
        model = f"{model} (held out)"
    return [
        algorithm_name(cell),
        nbytes(cell.bytes),
        time(cell.seconds),
        model,
        seconds(cell.bound),
        ratio_text(cell.ratio),
    ]


def _detail_row(cell: CellNumbers) -> list[Text]:
    wire = nbytes(cell.wire_bytes)
    if cell.modelled:
        wire = f"{wire} (modelled)"
    if cell.algorithm in LIBRARIES:
        wire = NOTHING
    return [
        algorithm_name(cell),
        nbytes(cell.bytes),
        rate(cell.algbw),
        rate(cell.busbw),
        wire,
        nbytes(cell.memory),
        nbytes(cell.model_memory),
        seconds(cell.skew),
        seconds(cell.joint),
    ]


def time(value: Measured) -> Text:
    """A median with its interval; a single value has none."""
    if value.low is None:
        return f"{seconds(value.value)}, n = {value.n}"
    return measured(value.value, value.low, value.high, value.n)


def ratio_text(value: Measured | None) -> Text:
    if value is None:
        return NOTHING
    if value.low is None:
        return f"{value.value:.3g} ×, n = {value.n}"
    return ratio(value.value, value.low, value.high, value.n)


def _fit_blocks(fits: Sequence[Fit]) -> list[Block]:
    blocks: list[Block] = []
    for fit in fits:
        parameters: list[list[Text]] = []
        for parameter in fit.parameters:
            launches = parameter.launches
            value = Measured(
                parameter.value, parameter.low, parameter.high, launches, launches
            )
            parameters.append([clean(parameter.name), time(value)])
        errors: list[list[Text]] = []
        for error in fit.errors:
            interval = NOTHING
            if error.low is not None:
                interval = f"[{percent(error.low, 3)}, {percent(error.high, 3)}]"
            share = percent(error.median, 3)
            errors.append([clean(error.cells), share, interval, str(error.n)])
        name = f"{fit.transport}: parameter"
        blocks.append(Table([name, "value"], parameters, "lr"))
        headers = ["cells", "median |error|", "95 % interval", "n"]
        blocks.append(Table(headers, errors, "lrrr"))
    return blocks


def _overlaps(numbers: CollectiveNumbers) -> Table:
    rows: list[list[Text]] = []
    for overlap in numbers.overlaps:
        where = f"{overlap.ranks} ranks over {overlap.transport}"
        shares = [_share(overlap.unpolled), _share(overlap.polled)]
        rows.append([where, nbytes(overlap.bytes), *shares])
    headers = ["where", "bytes", "hidden, not polled", "hidden, polled"]
    return Table(headers, rows, "lrrr")


def _share(share: Measured) -> str:
    text = percent(share.value, 3)
    if share.low is not None:
        text += f" [{percent(share.low, 3)}, {percent(share.high, 3)}]"
    return f"{text}, n = {share.n}"
