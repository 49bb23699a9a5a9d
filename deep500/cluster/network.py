"""LogGOPS: what a message costs, by its bytes and by how near its two ranks are to each other."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..contracts.fitted_loggp import FittedLogGP
from ..contracts.loggp import LogGP
from ..errors import Deep500Error

FEMTO = 10**6  # femtoseconds of a nanosecond
NANO = 10**9
MOST_LEVELS = 3  # core, node, rack
MOST_KNOTS = 16  # as KNOTS in _network.h
MOST_NANOSECONDS = 10**15
UNSIGNED = 1 << 64


@dataclass(frozen=True)
class ClusterLevel:
    """Ranks that share a core, node or rack, and what messages between them cost, in nanoseconds.

    ranks   So many neighbouring ranks: rank r is in group r // ranks. 0: all.
    L, o, g   Latency, overhead of a processor, gap between messages; whole nanoseconds.
    G, O    Gap, and overhead of a processor, per byte.
    S       Messages of more bytes wait for their receive (rendezvous).
    knots, gaps   Bytes from which on another gap per byte holds, as a FittedLogGP has them, instead of G.

    The defaults are LogGOPSim's.
    """

    ranks: int = 0
    L: int = 2500
    o: int = 1500
    g: int = 1000
    G: float = 6.0
    O: float = 0.0  # noqa: E741 (the name that it has in the literature)
    S: int = 65535
    knots: tuple[int, ...] = ()
    gaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("L", "o", "g", "G", "O", "S"):
            value = getattr(self, name)
            if not 0 <= value <= MOST_NANOSECONDS:
                raise Deep500Error(
                    f"{name}={value:g} of a network: give nanoseconds (bytes for S) from 0 to {MOST_NANOSECONDS:g}"
                )
        for name in ("L", "o", "g", "S"):
            if getattr(self, name) != int(getattr(self, name)):
                raise Deep500Error(
                    f"{name}={getattr(self, name)} of a network: give a whole number"
                )
        if len(self.knots) != len(self.gaps) or len(self.knots) > MOST_KNOTS:
            raise Deep500Error(
                f"{len(self.knots)} knots and {len(self.gaps)} gaps: give a gap for each, {MOST_KNOTS} at most"
            )

    @property
    def per_byte(self) -> tuple[int, int]:
        """G and O in femtoseconds."""
        return round(self.G * FEMTO), round(self.O * FEMTO)

    def stream(self, nbytes: int) -> int:
        """The nanoseconds that the bytes after the first one take."""
        if not self.knots:
            return charge(nbytes, self.per_byte[0])
        total = 0
        ends = [*self.knots[1:], nbytes]
        for knot, end, gap in zip(self.knots, ends, self.gaps, strict=True):
            total += round(gap * FEMTO) * max(0, min(end, nbytes) - knot)
        return (total + FEMTO // 2) // FEMTO

    def send_charge(self, nbytes: int) -> int:
        return charge(nbytes, self.per_byte[1])

    def receive_charge(self, nbytes: int) -> int:
        """The longer of both, compared as LogGOPSim compares them: without signs."""
        longer = max(
            self.send_charge(nbytes) % UNSIGNED, self.stream(nbytes) % UNSIGNED
        )
        return longer - UNSIGNED if longer >= UNSIGNED // 2 else longer


def charge(nbytes: int, per_byte: int) -> int:
    """What the bytes after the first one take; a message without any takes a byte less, as in LogGOPSim."""
    if nbytes == 0:
        return -((per_byte + FEMTO // 2) // FEMTO)
    return ((nbytes - 1) * per_byte + FEMTO // 2) // FEMTO


@dataclass(frozen=True)
class ClusterNetwork:
    """The levels of a cluster from the nearest on, and where their figures come from.

    element, byte, call, exchange, exchange_byte are the nanoseconds of a fitted model: of combining arrays (per
    element, per byte), of an operation, and of a message (and each of its bytes) that is sent while another one comes.
    """

    levels: tuple[ClusterLevel, ...] = (ClusterLevel(),)
    calibration: str = "LogGOPSim's defaults, of an InfiniBand cluster of 2010"
    element: float = 0.0
    byte: float = 0.0
    call: float = 0.0
    exchange: float = 0.0
    exchange_byte: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= len(self.levels) <= MOST_LEVELS:
            raise Deep500Error(
                f"a network of {len(self.levels)} levels: give 1 to {MOST_LEVELS}, such as core, node and rack"
            )
        groups = [level.ranks for level in self.levels[:-1]]
        if any(ranks < 1 for ranks in groups) or groups != sorted(set(groups)):
            raise Deep500Error(
                f"levels of {groups} ranks: give ascending numbers of neighbouring ranks, as in 8 and 64"
            )

    def level(self, a: int, b: int) -> ClusterLevel:
        """The level of messages between two ranks."""
        for level in self.levels[:-1]:
            if a // level.ranks == b // level.ranks:
                return level
        return self.levels[-1]


def cluster_network(
    own: LogGP, nearer: Sequence[ClusterLevel] = (), eager_bytes: int = 65535
) -> ClusterNetwork:
    """A LogGP in seconds as a network of the virtual cluster, for ranks that are on none of the nearer levels together.

    Every virtual rank has a processor of its own, also where a model was fitted to ranks that shared theirs.
    """
    settings: dict[str, float] = {}
    knots: tuple[int, ...] = ()
    gaps: tuple[float, ...] = ()
    calibration = f"{own}, as given"
    if isinstance(own, FittedLogGP):
        knots = tuple(round(knot) for knot in own.knots)
        gaps = tuple(gap * NANO for gap in own.gaps)
        for name in ("element", "byte", "call", "exchange", "exchange_byte"):
            settings[name] = getattr(own, name) * NANO
        where = own.machine or "an unnamed machine"
        calibration = f"a model fitted to {where}, over {own.library or 'MPI'}"
    level = ClusterLevel(
        0,
        round(own.L * NANO),
        round(own.o * NANO),
        round(own.g * NANO),
        own.G * NANO,
        0.0,
        eager_bytes,
        knots,
        gaps,
    )
    return ClusterNetwork((*nearer, level), calibration, **settings)
