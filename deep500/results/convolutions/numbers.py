"""What follows from the times of convolutions: rates of both counts, and ratios to PyTorch's best layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import TooFewSamples
from ...measure.bench_blocks import TimedBlock
from ...measure.bench_plan import BenchPlan
from ...measure.numbers import BenchNumbers, EntryNumbers
from ...measure.results import Result
from ...reports.tables import is_number

Work = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class ConvolutionCell:
    """One way to compute one convolution in one direction.

    `direct_rate` counts the operations of the direct algorithm, whatever was done; `done_rate` those that were done.
    `ratio` is its time per that of `rival`, PyTorch's faster layout; None for the rival itself.
    """

    shape: str
    direction: str
    candidate: str
    native: bool
    seconds: float
    low: float | None
    high: float | None
    n: int
    direct_rate: float | None
    done_rate: float | None
    workspace: float | None
    error: float | None
    rival: str | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None


@dataclass(frozen=True, kw_only=True)
class ConvolutionNumbers(BenchNumbers):
    """Times, and what they mean for convolutions."""

    cells: Sequence[ConvolutionCell]


def convolution_cells(
    plan: BenchPlan, blocks: Sequence[TimedBlock], times: BenchNumbers
) -> list[ConvolutionCell]:
    result = Result(plan, list(blocks))
    works = {entry.name: plan.entry(entry.name).work or {} for entry in times.entries}
    best: dict[tuple[object, ...], EntryNumbers] = {}
    for entry in times.entries:
        place = _place(entry)
        is_better = place not in best or entry.median < best[place].median
        if works[entry.name].get("native") and is_better:
            best[place] = entry
    cells = []
    for entry in times.entries:
        rival = best.get(_place(entry))
        cells.append(_cell(entry, works[entry.name], rival, result))
    return cells


def _place(entry: EntryNumbers) -> tuple[object, ...]:
    return entry.levels.get("shape"), entry.levels.get("direction")


def _cell(
    entry: EntryNumbers, work: Work, rival: EntryNumbers | None, result: Result
) -> ConvolutionCell:
    ratio = low = high = None
    if rival is not None and rival.name != entry.name:
        ratio, low, high = _ratio(rival, entry, result)
    workspace = work.get("workspace")
    error = work.get("error")
    return ConvolutionCell(
        shape=str(entry.levels.get("shape")),
        direction=str(entry.levels.get("direction")),
        candidate=str(work.get("candidate", entry.name)),
        native=bool(work.get("native")),
        seconds=entry.median,
        low=entry.low,
        high=entry.high,
        n=entry.n,
        direct_rate=_rate(work.get("direct"), entry.median),
        done_rate=_rate(work.get("flops"), entry.median),
        workspace=workspace if is_number(workspace) else None,
        error=error if is_number(error) else None,
        rival=rival.name if rival else None,
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
    )


def _ratio(
    rival: EntryNumbers, entry: EntryNumbers, result: Result
) -> tuple[float, float | None, float | None]:
    try:
        compared = result.compare(rival.name, entry.name)
    except TooFewSamples:
        return entry.median / rival.median, None, None
    return compared.ratio, compared.low, compared.high


def _rate(operations: object, seconds: float) -> float | None:
    if not is_number(operations) or not operations or not seconds:
        return None
    return operations / seconds
