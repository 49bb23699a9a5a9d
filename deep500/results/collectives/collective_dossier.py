"""What a benchmark of collectives declares, for an audit: times, rates and ratios, and how ranks began."""

from collections.abc import Sequence
from statistics import median

from ...contracts.dossier import (
    Dossier,
    IntervalBasis,
    MeasurementConduct,
    ReportedNumber,
    ReportedSpeedup,
    SuiteReport,
)
from ...reports.text import clean
from .data import LIBRARY, CollectiveLaunch, CollectivePlan
from .deriving import VIRTUAL
from .numbers import CellNumbers, CollectiveNumbers
from .samples import Measured

DERIVED = "derived.json"
SAMPLES = "samples.jsonl"
LEVEL = 0.95  # of all intervals of this kind
FEW = "too few launches for an interval"
ACROSS = "of each call, the slowest rank; then the median over calls and launches"
STARTS = {
    "window": "at the end of a window by synchronised clocks",
    "barrier": "behind a barrier",
    VIRTUAL: "in virtual time, at one moment",
}


def collective_dossier(
    plan: CollectivePlan,
    blocks: Sequence[CollectiveLaunch],
    derived: CollectiveNumbers | None,
) -> Dossier:
    """Everything that a benchmark of collectives declares; nothing before it has numbers."""
    if derived is None:
        return Dossier()
    numbers, speedups = [], []
    for index, cell in enumerate(derived.cells):
        place = f"cells/{index}"
        start = _start(blocks, cell)
        numbers.append(_time(cell, start).at(DERIVED, place, **_places(place)))
        rate = _rate(cell, start)
        value = f"{place}/algbw"
        numbers.append(rate.at(DERIVED, place, **_places(place) | {"value": value}))
        if cell.ratio is not None:
            speedup = _speedup(cell, cell.ratio, derived.cells)
            speedups.append(speedup.at(DERIVED, f"{place}/ratio"))
    return Dossier(
        number=numbers,
        speedup=speedups,
        measurement=[_conduct(plan, blocks)],
        suite=[_suite(derived)],
    )


def launches_load(others: Sequence[float | None]) -> float | None:
    """The share of the machine that others used, over launches."""
    known = [share for share in others if share is not None]
    return min(1.0, median(known)) if known else None


def basis(measured: Measured) -> IntervalBasis | None:
    """What the interval of a median over launches stands on."""
    return None if measured.low is None else "ranks"


def _places(place: str) -> dict[str, str]:
    measured = f"{place}/seconds"
    return {
        "value": f"{measured}/value",
        "n": f"{measured}/n",
        "low": f"{measured}/low",
        "high": f"{measured}/high",
        "synchronised": f"{SAMPLES}: start",
        "across_ranks": f"{SAMPLES}: leave",
        "arrival": f"{SAMPLES}: start",
    }


def _name(cell: CellNumbers) -> str:
    where = f"{cell.ranks} ranks over {cell.transport}"
    beside = f", {cell.progress}" if cell.progress else ""
    name = f"{cell.operation} by {cell.algorithm}, {cell.bytes} bytes, {where}{beside}"
    return clean(name)


def _time(cell: CellNumbers, start: str) -> ReportedNumber:
    seconds = cell.seconds
    return ReportedNumber(
        name=_name(cell),
        kind="cost",
        value=seconds.value,
        unit="s",
        n=seconds.n,
        deterministic=cell.transport == VIRTUAL,
        low=seconds.low,
        high=seconds.high,
        level=LEVEL if seconds.low is not None else None,
        interval=basis(seconds),
        refused=FEW if seconds.low is None else None,
        summary="median",
        ranks=cell.ranks,
        synchronised=STARTS.get(start, start),
        across_ranks=ACROSS,
        # a barrier does not say when ranks leave it
        arrival="not known" if start == "barrier" else "excluded",
    )


def _rate(cell: CellNumbers, start: str) -> ReportedNumber:
    """The bytes of a rank's array per second, with what the fitted network lets no algorithm exceed."""
    seconds = cell.seconds
    low = cell.bytes / seconds.high if seconds.high else None
    high = cell.bytes / seconds.low if seconds.low else None
    has_ends = low is not None and high is not None
    return ReportedNumber(
        name=f"{_name(cell)}, algbw",
        kind="rate",
        value=cell.algbw,
        unit="B/s",
        n=seconds.n,
        deterministic=cell.transport == VIRTUAL,
        low=low if has_ends else None,
        high=high if has_ends else None,
        level=LEVEL if has_ends else None,
        interval="ranks" if has_ends else None,
        refused=None if has_ends else FEW,
        summary="median",
        ranks=cell.ranks,
        synchronised=STARTS.get(start, start),
        across_ranks=ACROSS,
        windows="common",
        bound=cell.bytes / cell.bound if cell.bound else None,
        bound_name="lower bound of the time, on the fitted network",
        bound_reason=None if cell.bound else "no network was fitted to these times",
        bound_soft=True,
    )


def _speedup(
    cell: CellNumbers, ratio: Measured, cells: Sequence[CellNumbers]
) -> ReportedSpeedup:
    """The time over that of the library's own call on the same array."""
    base = next((other for other in cells if _is_library(other, cell)), None)
    return ReportedSpeedup(
        name=f"{_name(cell)}: its time, of that of the library",
        value=ratio.value,
        base="the library's own call",
        base_kind="another system",
        base_value=base.seconds.value if base else None,
        base_unit="s",
        n=ratio.n,
        low=ratio.low,
        high=ratio.high,
        averaged=1,
        verdict="inconclusive" if ratio.low is None else None,
    )


def _is_library(other: CellNumbers, cell: CellNumbers) -> bool:
    same = ("transport", "ranks", "operation", "bytes", "dtype")
    if other.algorithm != LIBRARY or other.progress:
        return False
    return all(getattr(other, name) == getattr(cell, name) for name in same)


def _start(blocks: Sequence[CollectiveLaunch], cell: CellNumbers) -> str:
    """How the ranks of a cell began together: by a window only if they did so in all launches."""
    starts = {
        block.start
        for block in blocks
        if (block.transport, block.ranks) == (cell.transport, cell.ranks)
    }
    return starts.pop() if len(starts) == 1 else "barrier"


def _conduct(
    plan: CollectivePlan, blocks: Sequence[CollectiveLaunch]
) -> MeasurementConduct:
    conduct = MeasurementConduct(
        name="the measurement",
        load=launches_load([block.others for block in blocks]),
        method=f"{plan.start}, {plan.calls} calls in a sample",
    )
    return conduct.at(SAMPLES, "", load="others", method="plan.json: start")


def _suite(derived: CollectiveNumbers) -> SuiteReport:
    """What could not be measured is listed with its reason."""
    failed = len(derived.failures)
    reasons = "; ".join(clean(failure.reason) for failure in derived.failures)
    suite = SuiteReport(
        name="cases",
        members=len(derived.cells) + failed,
        shown=len(derived.cells),
        reason=reasons[:200] or None,
    )
    return suite.at(DERIVED, "failures", shown="cells", members="cells")
