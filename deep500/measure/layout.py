"""Where data lie in memory, as a factor: drawn anew for every process, recorded with its blocks.

The place of data moves times by a per cent (Mytkowicz et al. 2009), and is decided before the first call: no order of
calls cancels it. Drawn at random it becomes variance between processes, which the intervals count.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_ENVIRONMENT = 4096  # bytes: moves the stack by up to a page
MOST_ALLOCATIONS = 1000
# Bytes of an allocation: some from Python's own pools, some from malloc.
SMALLEST, LARGEST = 16, 2048


@dataclass(frozen=True)
class MemoryLayout:
    """The random choices that move the data of one process in memory."""

    environment: int  # bytes added to the environment variables
    setups: Sequence[int]  # the entries, in the order in which their setups run
    # objects made before each of these setups, and kept
    allocations: Sequence[int]

    def to_json(self) -> dict[str, Any]:
        return {
            "environment": self.environment,
            "setups": list(self.setups),
            "allocations": list(self.allocations),
        }

    def part(self, members: Sequence[int]) -> "MemoryLayout":
        """The layout of a process that holds only these entries, which it numbers from 0."""
        setups = []
        allocations = []
        setup_allocations = zip(self.setups, self.allocations, strict=True)
        for entry, allocation in setup_allocations:
            if entry in members:
                setups.append(members.index(entry))
                allocations.append(allocation)
        return MemoryLayout(self.environment, setups, allocations)


def draw_layout(seed: int, process: int, entries: int) -> MemoryLayout:
    """The layout of one process of a run."""
    rng = random.Random(f"{seed}/{process}/layout")
    setups = rng.sample(range(entries), entries)
    allocations = [rng.randrange(MOST_ALLOCATIONS) for _ in setups]
    environment = rng.randrange(MOST_ENVIRONMENT)
    return MemoryLayout(environment, setups, allocations)


def layout_from_json(fields: Mapping[str, Any]) -> MemoryLayout:
    return MemoryLayout(
        environment=fields["environment"],
        setups=fields["setups"],
        allocations=fields["allocations"],
    )


def allocate(count: int) -> list[bytes]:
    """That many objects of random sizes; data allocated later lie elsewhere for as long as these are kept."""
    rng = random.Random(count)
    return [bytes(rng.randrange(SMALLEST, LARGEST)) for _ in range(count)]
