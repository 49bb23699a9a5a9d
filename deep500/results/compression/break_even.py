"""Below which rate, and from how many ranks on, a scheme's step is shorter than that of a baseline."""

from collections.abc import Mapping, Sequence

from ..collectives.samples import median
from .data import DENSE, HALF, RankTraffic
from .numbers import BreakEven
from .series import MethodSeries, Networks
from .wires import PAYLOAD, Wire

ByRanks = Mapping[str, Mapping[int, RankTraffic]]
FEWEST_FOR_INTERVAL = 3


def break_evens(
    ranks: int, networks: Networks, traffic: ByRanks, wires: Mapping[float, Wire]
) -> list[BreakEven]:
    """Of every scheme against both baselines, as far as its traffic is known."""
    found = []
    unlimited = networks.unlimited
    for baseline in (DENSE, HALF):
        for method in unlimited:
            known = {method, baseline} <= unlimited.keys() & traffic.keys()
            if known and method not in (DENSE, baseline):
                found.append(
                    _break_even(method, baseline, ranks, unlimited, traffic, wires)
                )
    return found


def _break_even(
    method: str,
    baseline: str,
    ranks: int,
    unlimited: Mapping[str, MethodSeries],
    traffic: ByRanks,
    wires: Mapping[float, Wire],
) -> BreakEven:
    own, other = unlimited[method], unlimited[baseline]
    mine, theirs = traffic[method].get(ranks), traffic[baseline].get(ranks)
    latency = min((wire.latency for wire in wires.values()), default=0.0)
    extra = median(own.seconds) - median(other.seconds)
    rate, always = None, False
    rates: list[float] = []
    if mine and theirs:
        rate, always = _rate(extra, mine, theirs, latency)
        for one, base in zip(own.seconds, other.seconds, strict=False):
            of_launch, _ = _rate(median([one]) - median([base]), mine, theirs, latency)
            if of_launch is not None:
                rates.append(of_launch)
    is_known = rate is not None and len(rates) >= FEWEST_FOR_INTERVAL
    by_rate = {
        f"{mbit:g}": _fewest_ranks(extra, traffic[method], traffic[baseline], wire)
        for mbit, wire in wires.items()
    }
    return BreakEven(
        method,
        baseline,
        rate,
        min(rates) if is_known else None,
        max(rates) if is_known else None,
        always,
        len(own.seconds),
        by_rate,
    )


def _rate(
    extra: float, mine: RankTraffic, theirs: RankTraffic, latency: float
) -> tuple[float | None, bool]:
    """The Mbit/s at which `extra` seconds of computing and what is saved on the wire are equal; whether it always pays.

    At R bit/s of frames, the bytes that are saved take 8 bytes / (R · the share of payload).
    """
    saved = theirs.bytes - mine.bytes
    more = extra + (mine.latencies - theirs.latencies) * latency
    if saved <= 0:
        return None, False
    if more <= 0:
        return None, True
    return 8e-6 * saved / (more * PAYLOAD), False


def _fewest_ranks(
    extra: float,
    mine: Mapping[int, RankTraffic],
    theirs: Mapping[int, RankTraffic],
    wire: Wire,
) -> int | None:
    """The fewest ranks from which on, up to the most that were looked at, the step is shorter on this network."""
    counts: Sequence[int] = sorted(mine.keys() & theirs.keys())
    fewest = None
    for count in reversed(counts):
        gained = wire.seconds(theirs[count]) - wire.seconds(mine[count])
        if gained <= extra:
            break
        fewest = count
    return fewest
