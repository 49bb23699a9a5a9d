"""What is derived from a benchmark of collectives: times, bandwidths, and the network that fits them."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...contracts.fitted_loggp import FittedLogGP
from .samples import Measured


@dataclass(frozen=True)
class CellNumbers:
    """One case in one setting. Seconds of the slowest rank, bytes per second as nccl-tests compute them.

    `ratio` is its time over that of the library's own call, `model` what the fitted network predicts, `bound` what no
    algorithm can beat on it, and `held_out` why the fit has not seen this cell.
    """

    transport: str
    ranks: int
    operation: str
    algorithm: str
    bytes: int
    dtype: str
    progress: str
    seconds: Measured
    joint: float
    skew: float
    algbw: float
    busbw: float
    wire_bytes: int
    modelled: bool
    memory: int | None
    model_memory: float | None
    ratio: Measured | None
    model: float | None
    bound: float | None
    held_out: Sequence[str]


@dataclass(frozen=True)
class HiddenTime:
    """How much of the shorter of communication and computing disappears when both go on at once, for one size."""

    transport: str
    ranks: int
    bytes: int
    unpolled: Measured
    polled: Measured


@dataclass(frozen=True)
class FittedParameter:
    """A parameter of the fitted network with its interval over launches."""

    name: str
    value: float
    low: float | None
    high: float | None
    launches: int


@dataclass(frozen=True)
class PredictionError:
    """The median of |predicted / measured - 1| over cells; `cells` are those that were fitted, or why they were not."""

    cells: str
    median: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class NetworkParameters:
    """The settings of a FittedLogGP."""

    L: float
    o: float
    g: float
    G: float
    knots: Sequence[float]
    gaps: Sequence[float]
    element: float
    byte: float
    call: float
    exchange: float
    exchange_byte: float
    cpus: int
    crowded_L: float
    crowded_G: float
    crowded_byte: float
    crowded_call: float
    machine: str
    library: str

    @property
    def network(self) -> FittedLogGP:
        return FittedLogGP(**vars(self))


@dataclass(frozen=True)
class Fit:
    """The network that fits the times over one transport."""

    transport: str
    network: NetworkParameters
    parameters: Sequence[FittedParameter]
    errors: Sequence[PredictionError]


@dataclass(frozen=True)
class Failure:
    """What could not be measured, and why."""

    what: str
    reason: str


@dataclass(frozen=True)
class CollectiveNumbers:
    """All that is reported."""

    cells: Sequence[CellNumbers]
    overlaps: Sequence[HiddenTime]
    fits: Sequence[Fit]
    failures: Sequence[Failure]
