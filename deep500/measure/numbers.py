"""The numbers that are derived from a run, as they stand in derived.json."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..schema import inline, optional
from .candidates import Level
from .interference import Interference
from .neighbours import NeighbourEffect
from .statistics.comparison import Verdict
from .statistics.drift import Drift
from .statistics.modality import DensityMode


@dataclass(frozen=True)
class WarmupNumbers:
    """How the usual process began, and how many rounds were cut from all of them."""

    kind: str
    cut: int


@dataclass(frozen=True)
class TimeAtQuantile:
    """A quantile of the times of an entry with its interval, or why it was refused."""

    q: float
    value: float | None = optional()
    low: float | None = optional()
    high: float | None = optional()
    refused: str | None = optional()


@dataclass(frozen=True)
class RatioAtQuantile:
    """The ratio of one quantile of both entries with its interval, or why it was refused."""

    q: float
    ratio: float | None = optional()
    low: float | None = optional()
    high: float | None = optional()
    refused: str | None = optional()


@dataclass(frozen=True)
class Rate:
    """Work per second at the median time; the longest time gives the lowest rate."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RooflineShare:
    """The share of the roofline that was reached at the median time, and what limits it."""

    value: float | None
    low: float | None
    high: float | None
    limited_by: str
    alarm: str | None


@dataclass(frozen=True)
class Rates:
    """What the times of an entry mean for the work that the plan says a call does."""

    flops: Rate | None = optional()
    bytes: Rate | None = optional()
    roofline: RooflineShare | None = None
    no_roofline: str | None = optional()  # why there is no share of it


@dataclass(frozen=True)
class DeviceTime:
    """The median time of a call by the device's own clock, with its interval."""

    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class EntryNumbers:
    """One candidate at one combination of levels."""

    name: str
    levels: Mapping[str, Level]
    n: int
    processes: int
    level: float
    unit: str
    batch: int  # calls that were timed together
    warmup: WarmupNumbers
    modes: Sequence[DensityMode] | None  # None: a single one
    notes: Sequence[str]
    median: float
    low: float | None
    high: float | None
    method: str
    untimed: int | None  # visits before a timed one
    after: float | None  # CPU time after the clock had stopped, per timed time
    neighbours: NeighbourEffect | None  # what the other candidates do to it
    drift: Drift | None = optional()
    device: DeviceTime | None = optional()
    rates: Rates | None = optional()
    quantiles: Sequence[TimeAtQuantile]


@dataclass(frozen=True)
class LevelledRatio:
    """A ratio of medians or of means, with its interval."""

    ratio: float
    low: float | None
    high: float | None
    level: float


@dataclass(frozen=True)
class RatioMeaning:
    """What the ratio is, and the ratios of medians and of means beside it."""

    estimand: str
    of_medians: LevelledRatio
    of_means: LevelledRatio
    withheld: bool  # no verdict, for a reason that more samples do not remove


@dataclass(frozen=True, kw_only=True)
class EntryComparison:
    """An entry against its base; without a ratio there were too few samples, and a note says so."""

    base: str
    other: str
    ratio: float | None
    low: float | None
    high: float | None
    level: float
    margin: float
    verdict: Verdict
    n: int
    processes: int | None = optional()
    method: str | None = optional()
    shift: float | None = optional()
    probability: float | None = optional()
    quantiles: Sequence[RatioAtQuantile]
    notes: Sequence[str]
    meaning: RatioMeaning | None = inline()
    drift: Drift | None = optional()


@dataclass(frozen=True)
class ControlNumbers:
    """The first candidate against itself."""

    base: str
    ratio: float
    low: float
    high: float
    verdict: Verdict
    n: int


@dataclass(frozen=True, kw_only=True)
class BenchNumbers:
    """Everything that is derived from the samples of a run."""

    procedure: int
    stopped: str  # "precise" or "budget"
    more: int | None
    status: str
    entries: Sequence[EntryNumbers]
    comparisons: Sequence[EntryComparison]
    control: ControlNumbers | None
    notes: Sequence[str]
    # from the first to the last sample: absolute times hold for as long
    measured_s: float | None
    interference: Interference | None = optional()
