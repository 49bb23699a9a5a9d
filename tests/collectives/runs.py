"""Operations of collectives on virtual ranks, with the arrays that they are given and what must come out."""

from functools import partial
from typing import Any

import numpy as np

from deep500 import registry
from deep500.contracts.collective import Collective
from deep500.contracts.loggp import LogGP
from deep500.contracts.transport import Program
from deep500.transports.virtual import Virtual

# g is at most L + 2 o, as everywhere
NETWORK = LogGP(L=3e-6, o=1e-6, g=2e-6, G=1e-9)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17)
# nothing, less than an element for each rank, uneven, even
LENGTHS = (0, 1, 5, 17, 720)


def built_in() -> list[Collective]:
    return [
        registry.find("collectives", name)() for name in registry.known("collectives")
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
    **settings: Any,
) -> tuple[Virtual, dict[int, Any]]:
    """The operation on all ranks, in place; the transport and the values."""
    virtual = Virtual(len(arrays), network)

    def program(rank: int) -> Program:
        make = partial(getattr(collective, operation), rank, len(arrays))
        return (yield from make(arrays[rank], **settings))

    return virtual, virtual.run(program)
