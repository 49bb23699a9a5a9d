"""The LogGP model of a network: the cost of a message for its sender, the wire and its receiver."""

import math

from ..definition import Definition
from ..errors import Deep500Error


class LogGP(Definition):
    """Latency L, overhead o of the processor per message, gap g between messages, gap G per byte; in seconds.

    The defaults are those of LogGOPSim, for an InfiniBand cluster of 2010.
    """

    L: float = 2.5e-6
    o: float = 1.5e-6
    g: float = 1.0e-6
    G: float = 6.0e-9

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("L", "o", "g", "G"):
            self.check_seconds(name)

    def check_seconds(self, name: str) -> None:
        """Raise a Deep500Error if a setting is no duration."""
        value = getattr(self, name)
        if not math.isfinite(value) or value < 0:
            raise Deep500Error(f"{name} of LogGP is {value}: give seconds, 0 or more")

    def among(self, ranks: int) -> "LogGP":
        """The network as so many ranks find it: the same for any number of them."""
        return self

    def stream(self, nbytes: float) -> float:
        """The seconds that the bytes after the first one take."""
        return max(0, nbytes - 1) * self.G
