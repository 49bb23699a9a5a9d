"""Noise in Python: the integers of _noise.h. Draws are hashes of counters, and depend on seed, host and number only."""

import math
from bisect import bisect_right
from collections.abc import Iterator

from ..contracts.noise import Detours, Noise

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mixed(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def stream_key(seed: int, stream: int, host: int) -> int:
    salt = (GOLDEN * (stream + 1)) & MASK
    return mixed((mixed(seed ^ salt) + host * GOLDEN) & MASK)


def draw(key: int, number: int) -> int:
    return mixed((key + (number + 1) * GOLDEN) & MASK)


def uniform(bits: int) -> float:
    """Above 0, at most 1."""
    return ((bits >> 11) + 1) * 2.0**-53


class HostNoise:
    """A host without noise."""

    def end_of(self, time: int, work: int) -> int:
        """When work of so many nanoseconds that begins at a time ends."""
        if work == 0:
            return time
        left = work
        for start, end in self.detours_from(time):
            if start > time:
                if left <= start - time:
                    break
                left -= start - time
            time = max(time, end)
        return time + left

    def detours_from(self, time: int) -> Iterator[tuple[int, int]]:
        """The detours that end after a time, in order."""
        return iter(())


class TableNoise(HostNoise):
    """A table of detours that repeats, begun at a place of the host's own."""

    def __init__(self, detours: Detours, seed: int, host: int):
        self.starts, self.ends = detours.starts.tolist(), detours.ends.tolist()
        self.period = detours.period
        key = stream_key(seed, 1, 0 if detours.together else host)
        self.phase = draw(key, 0) % self.period

    def detours_from(self, time: int) -> Iterator[tuple[int, int]]:
        place = (time + self.phase) % self.period
        origin = time - place
        first = bisect_right(self.ends, place)
        while True:
            for i in range(first, len(self.ends)):
                yield origin + self.starts[i], origin + self.ends[i]
            first = 0
            origin += self.period


class DrawnNoise(HostNoise):
    """Detours at random moments, kept once they are drawn."""

    def __init__(self, detours: Detours, seed: int, host: int):
        self.law = detours
        self.key = stream_key(seed, 0, 0 if detours.together else host)
        self.kept: list[tuple[int, int]] = []

    def detours_from(self, time: int) -> Iterator[tuple[int, int]]:
        number = 0
        while True:
            if number == len(self.kept):
                self.kept.append(self._next(number))
            if self.kept[number][1] > time:
                yield self.kept[number]
            number += 1

    def _next(self, number: int) -> tuple[int, int]:
        pause = uniform(draw(self.key, 2 * number))
        length = uniform(draw(self.key, 2 * number + 1))
        before = self.kept[-1][1] if self.kept else 0
        start = before + int(-math.log(pause) * self.law.every)
        lasting, shape = self.law.lasting, self.law.shape
        if shape == 1:
            lasting = -math.log(length) * lasting
        elif shape > 1:
            lasting = lasting * (shape - 1) / shape * math.pow(length, -1 / shape)
        return start, start + int(min(lasting, 1e15))


def noise_of_hosts(noise: Noise | None, seed: int, hosts: int) -> list[HostNoise]:
    """The noise of every host."""
    if noise is None:
        return [HostNoise()] * hosts
    detours = noise.detours()
    kind = TableNoise if detours.period else DrawnNoise
    return [kind(detours, seed, host) for host in range(hosts)]
