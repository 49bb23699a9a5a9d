"""Numbers of ranks that are no power of two: ranks too many give their arrays to a neighbour, and get the result."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..contracts.collective import combine
from ..contracts.collective_cost import CollectiveCost
from ..contracts.transport import Program, ReduceOp, receive, send


@dataclass(frozen=True)
class Fold:
    """The largest power of two within P, and how its ranks (the core) are numbered.

    The first 2 `extra` ranks are pairs, of which the even one is in the core. The order of ranks is kept.
    """

    size: int

    @property
    def power(self) -> int:
        return 1 << (self.size.bit_length() - 1)

    @property
    def extra(self) -> int:
        return self.size - self.power

    def place(self, rank: int) -> int:
        """The number in the core of a rank that is in it."""
        return rank // 2 if rank < 2 * self.extra else rank - self.extra

    def rank(self, place: int) -> int:
        return 2 * place if place < self.extra else place + self.extra

    def cost(self, core: CollectiveCost, nbytes: float) -> CollectiveCost:
        """Of giving arrays away, of the core, and of getting the results."""
        if not self.extra:
            return core
        folding = CollectiveCost(1, nbytes, 0, ((2, nbytes),), reduced=nbytes)
        # what a neighbour has given is still there when the core begins
        return replace(core.then(folding), memory=core.memory + nbytes)


def folded(
    rank: int,
    size: int,
    array: np.ndarray,
    op: ReduceOp,
    tag: int,
    core: Callable[[Fold], Program],
) -> Program:
    """An allreduce whose `core` works on a power of two of ranks."""
    fold = Fold(size)
    if rank >= 2 * fold.extra:
        yield from core(fold)
    elif rank % 2:
        yield from send(rank - 1, array, tag)
        yield from receive(rank - 1, array, tag)
    else:
        incoming = np.empty_like(array)
        yield from receive(rank + 1, incoming, tag)
        combine(op, array, incoming, out=array)
        yield from core(fold)
        yield from send(rank + 1, array, tag)
