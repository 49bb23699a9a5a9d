"""What messages take on a network of a limited rate: as they were measured on it, or as the rate says."""

from dataclasses import dataclass
from statistics import median

from .data import RankTraffic
from .series import Networks

# of a full frame, the bytes that are not headers of Ethernet, IP and TCP: 1448 of 1514
PAYLOAD = 1448 / 1514


@dataclass(frozen=True)
class Wire:
    """Seconds of latency, and seconds per byte."""

    latency: float
    gap: float

    def seconds(self, traffic: RankTraffic) -> float:
        return traffic.latencies * self.latency + traffic.bytes * self.gap


def wire_of(networks: Networks, mbit: float) -> Wire:
    """The network of this rate; where none was measured, with the latency of loopback."""
    own = networks.launches.get((mbit, True), [])
    if own:
        latency = median([one.latency for one in own])
        return Wire(latency, median([one.gap for one in own]))
    others = [
        one.latency for launches in networks.launches.values() for one in launches
    ]
    gap = 8e-6 / (mbit * PAYLOAD) if mbit else 0.0
    return Wire(median(others) if others else 0.0, gap)
