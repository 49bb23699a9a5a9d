"""The samples of every case, put together from all launches: seconds of iterations, a series for each launch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...contracts.collective_cost import CollectiveCost
from ...errors import TooFewSamples
from ...measure.statistics.intervals import interval
from .data import MESSAGE, CaseSamples, CollectiveLaunch, TimedCase

NANO = 1e-9
Series = list[list[float]]


@dataclass(frozen=True)
class Setting:
    """Where a case was measured."""

    transport: str
    ranks: int


@dataclass
class CaseSeries:
    """All samples of a case; a list for each launch.

    `seconds` is the longest that any rank spent in the call, `joint` goes from the last arrival to the last leaving,
    and `skew` from the first arrival to the last.
    """

    case: TimedCase
    sent: int = 0
    modelled: bool = False
    memory: int | None = None
    cost: CollectiveCost | None = None
    failure: str = ""
    seconds: Series = field(default_factory=list)
    joint: Series = field(default_factory=list)
    skew: Series = field(default_factory=list)


@dataclass(frozen=True)
class Measured:
    """A median with its interval, from n samples of so many launches; without an interval where there are too few."""

    value: float
    low: float | None
    high: float | None
    n: int
    launches: int


AllSeries = dict[Setting, dict[TimedCase, CaseSeries]]


def all_series(blocks: Sequence[CollectiveLaunch], calls: int) -> AllSeries:
    """The samples by setting and case."""
    settings: AllSeries = {}
    for block in blocks:
        setting = Setting(block.transport, block.ranks)
        cases = settings.setdefault(setting, {})
        for row in block.rows:
            series = cases.setdefault(row.case, CaseSeries(row.case))
            _add(series, row, calls)
    return settings


def _add(series: CaseSeries, row: CaseSamples, calls: int) -> None:
    series.failure = series.failure or row.failure
    if not row.leave:
        return
    series.sent = max(row.sent, default=0)
    series.modelled = row.modelled
    series.memory = row.memory
    series.cost = row.cost
    scale = NANO / calls
    is_message = row.case.operation == MESSAGE
    seconds, joint, skew = [], [], []
    for arrive, leave in zip(row.arrive, row.leave, strict=True):
        spent = [end - begin for begin, end in zip(arrive, leave, strict=True)]
        # of messages, rank 0 sees the whole
        seconds.append(scale * (spent[0] if is_message else max(spent)))
        joint.append(scale * (max(leave) - max(arrive)))
        skew.append(NANO * max(arrive))
    series.seconds.append(seconds)
    series.joint.append(joint)
    series.skew.append(skew)


def measured(series: Series) -> Measured:
    """The median of all launches, each of which counts once."""
    n = sum(map(len, series))
    launches = len(series)
    try:
        found = interval(series if launches > 1 else series[0])
    except TooFewSamples:
        return Measured(median(series), None, None, n, launches)
    return Measured(found.estimate, found.low, found.high, n, launches)


def median(series: Series) -> float:
    """The median of the launches' medians."""
    return _median([_median(values) for values in series])


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[-1 - middle]) / 2
