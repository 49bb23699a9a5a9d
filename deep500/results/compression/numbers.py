"""What is derived from a benchmark of compression."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..collectives.samples import Measured


@dataclass(frozen=True)
class MethodNumbers:
    """One scheme on one network: seconds of a step, and of the steps to the target, which None never reaches.

    `to_dense` and `to_half` are its time over that of sending everything, and over that of 16 bits. `predicted` is the
    time without a limit and that of its messages on this network; `rate_share` is predicted / measured. `counted` are
    the bytes that a rank sends in a step as the transport counts or models them, `wire` those of its interface.
    """

    method: str
    bandwidth: float
    seconds: Measured | None
    to_dense: Measured | None
    to_half: Measured | None
    predicted: float | None
    rate_share: float | None
    counted: float | None
    wire: float | None
    to_target: float | None


@dataclass(frozen=True)
class AccuracyNumbers:
    """Test accuracy of a scheme in % after the last epoch, over seeds.

    `steps` is the median of the steps to the target on the validation data, which `reached` of the seeds reach.
    """

    method: str
    median: float | None
    low: float | None
    high: float | None
    seeds: int
    steps: float | None
    reached: int


@dataclass(frozen=True)
class BreakEven:
    """Where a scheme begins to pay against a baseline.

    `bandwidth` is the rate in Mbit/s below which its step is shorter, by the times without a limit and its messages;
    `always` if it is shorter without a limit, too, and None (and not `always`) if it never is. `ranks` are the fewest
    for which its step is shorter, by bandwidth; None where it is for none of those that were looked at.
    """

    method: str
    baseline: str
    bandwidth: float | None
    low: float | None
    high: float | None
    always: bool
    n: int
    ranks: dict[str, int | None]


@dataclass(frozen=True)
class WireNumbers:
    """One network as messages find it: latency in seconds, and the Mbit/s of their bytes without headers."""

    bandwidth: float
    is_namespace: bool
    latency: float
    rate: float | None
    launches: int


@dataclass(frozen=True)
class CompressionNumbers:
    """All that is reported; `failures` are texts."""

    methods: Sequence[MethodNumbers]
    accuracies: Sequence[AccuracyNumbers]
    break_evens: Sequence[BreakEven]
    networks: Sequence[WireNumbers]
    failures: Sequence[str]
