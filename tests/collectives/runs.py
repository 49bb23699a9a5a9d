"""Operations of collectives on virtual ranks, with the arrays that they are given and what must come out."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from deep500 import registry
from deep500.check.collectives.buffers import most_allocated
from deep500.contracts.collective import Collective
from deep500.contracts.loggp import LogGP
from deep500.contracts.transport import Program
from deep500.definition_text import definition_of
from deep500.transports.virtual import Virtual

# g is at most L + 2 o, as everywhere
NETWORK = LogGP(L=3e-6, o=1e-6, g=2e-6, G=1e-9)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17)
# nothing, less than an element for each rank, uneven, even
LENGTHS = (0, 1, 5, 17, 720)


# operations that take one array
WITH_ARRAYS = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "broadcast",
    "neighbor_all_gather",
)
# settings with which other code runs than with the defaults
VARIANTS = (
    "Pipeline(segment_bytes=256)",
    "Hierarchical(group=3)",
    "Hierarchical(group=2, across=Rabenseifner())",
    "NeighborExchange(topology=Torus())",
)


def built_in() -> list[Collective]:
    return [
        definition_of(text, "collectives")
        for text in (*registry.known("collectives"), *VARIANTS)
    ]


def offered(*operations: str) -> list[tuple[Collective, str]]:
    """Every built-in collective with each of these operations that it offers."""
    pairs = []
    for collective in built_in():
        for operation in operations:
            if operation in collective.operations:
                pairs.append((collective, operation))
    return pairs


def arrays_of(size: int, count: int, dtype: Any = "float32") -> list[np.ndarray]:
    """An array of small whole numbers for each rank, whose sums are exact."""
    arrays = []
    for rank in range(size):
        random = np.random.default_rng(rank)
        arrays.append(random.integers(0, 6, count).astype(dtype))
    return arrays


def carried_out(
    collective: Collective,
    operation: str,
    arrays: list[np.ndarray],
    network: LogGP = NETWORK,
    eager_bytes: float = math.inf,
    **settings: Any,
) -> tuple[Virtual, dict[int, Any]]:
    """The operation on all ranks, in place; the transport and the values."""
    virtual = Virtual(len(arrays), network, eager_bytes=eager_bytes)

    def program(rank: int) -> Program:
        make = partial(getattr(collective, operation), rank, len(arrays))
        return (yield from make(arrays[rank], **settings))

    return virtual, virtual.run(program)


def most_held(
    collective: Collective, operation: str, arrays: list[np.ndarray]
) -> float:
    """The most bytes that one rank's program has allocated at any time."""
    size = len(arrays)

    def run(watched: Callable[[int, Program], Program]) -> None:
        def program(rank: int) -> Program:
            operate = getattr(collective, operation)
            return watched(rank, operate(rank, size, arrays[rank]))

        Virtual(size, NETWORK).run(program)

    return most_allocated(run)
