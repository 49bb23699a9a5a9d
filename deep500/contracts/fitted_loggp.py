"""LogGP fitted to a machine: the gap per byte depends on the size of a message, and ranks share processors."""

import warnings

from ..errors import Deep500Error
from .collective_cost import CollectiveCost
from .loggp import LogGP

DURATIONS = (
    "element",
    "byte",
    "call",
    "exchange",
    "exchange_byte",
    "crowded_L",
    "crowded_G",
    "crowded_byte",
    "crowded_call",
)


class FittedLogGP(LogGP):
    """What `d5 bench collective` fits to its times; `G` is the gap per byte of long messages.

    knots      The bytes of a message from which on another gap per byte holds; the first one is 0.
    gaps       The seconds per byte from each knot on.
    element    Seconds to combine a received element with an own one, beside
    byte       the seconds for each of its bytes: a codec changes the bytes of an element, and not the elements.
    call       Seconds that every operation takes before and behind its messages.
    exchange, exchange_byte   What a message, and each of its bytes, take more where ranks send and receive at once.
    cpus       Processors, which P ranks share if they are more: x = P / cpus - 1 is by what share they are too many.
    crowded_L, crowded_G, crowded_byte, crowded_call   What one such x adds to L, to every gap per byte, to `byte`, and
               to `call`.
    machine    Where it was fitted.
    library    What carried the messages.
    """

    knots: tuple[float, ...] = (0.0,)
    gaps: tuple[float, ...] = (6.0e-9,)
    element: float = 0.0
    byte: float = 0.0
    call: float = 0.0
    exchange: float = 0.0
    exchange_byte: float = 0.0
    cpus: int = 1
    crowded_L: float = 0.0
    crowded_G: float = 0.0
    crowded_byte: float = 0.0
    crowded_call: float = 0.0
    machine: str = ""
    library: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in DURATIONS:
            self.check_seconds(name)
        steps = list(self.knots)
        if steps[:1] != [0.0] or steps != sorted(steps) or len(steps) != len(self.gaps):
            raise Deep500Error(
                f"knots of FittedLogGP are {steps}: give bytes from 0 up, and a gap for each"
            )

    def stream(self, nbytes: float) -> float:
        ends = (*self.knots[1:], float("inf"))
        seconds = 0.0
        for knot, end, gap in zip(self.knots, ends, self.gaps, strict=True):
            seconds += gap * max(0.0, min(nbytes, end) - knot)
        return seconds

    def least_gap(self, nbytes: float) -> float:
        """The fewest seconds per byte in which so many bytes pass, as one message or as several with gaps between."""
        gaps = []
        for length in (*self.knots, nbytes):
            if 0 < length <= nbytes:
                between = self.g * (1 / length - 1 / nbytes)
                gaps.append(self.stream(length) / length + between)
        return min(gaps)

    def among(self, ranks: int) -> "FittedLogGP":
        crowd = crowding(ranks, self.cpus)
        if not crowd:
            return self
        crowded = {
            "L": self.L + crowd * self.crowded_L,
            "G": self.G + crowd * self.crowded_G,
            "gaps": tuple(gap + crowd * self.crowded_G for gap in self.gaps),
            "byte": self.byte + crowd * self.crowded_byte,
            "call": self.call + crowd * self.crowded_call,
            # so that nobody counts the crowd twice
            "cpus": ranks,
        }
        return FittedLogGP(**{**self.settings, **crowded})

    def seconds_of(self, cost: CollectiveCost, ranks: int, gamma: float) -> float:
        """The time of an operation for elements of `gamma` bytes, with that of combining and of copying both ways."""
        network = self.among(ranks)
        seconds = cost.seconds(network, network.byte + network.element / gamma)
        seconds += cost.exchanges * network.exchange
        return network.call + seconds + cost.exchanged * network.exchange_byte

    def warn_elsewhere(self) -> None:
        """Warn if this is not the machine to which it was fitted."""
        here = machine_name()
        if self.machine not in ("", here):
            warnings.warn(
                f"this network was fitted to another machine ({self.machine}) than this one ({here}): "
                "its seconds are that machine's",
                stacklevel=3,
            )


def crowding(ranks: int, cpus: int) -> float:
    """By what share there are more ranks than processors; 0 while each has its own."""
    return max(0.0, ranks / cpus - 1)


def machine_name() -> str:
    """The processor, and how many of them this process may use."""
    from ..measure.machine.host.compute import cpu_model
    from ..measure.machine.host.files import HostFiles, Unavailable
    from ..measure.sensing.others import allowed_cpus

    try:
        model = str(cpu_model(HostFiles()))
    except (Unavailable, OSError, LookupError):
        model = "unknown processor"
    return f"{model}, {len(allowed_cpus())} CPUs"
