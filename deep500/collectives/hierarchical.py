"""Two levels: the ranks of a machine add up for one of them, and these reduce among themselves."""

from dataclasses import replace

import numpy as np

from ..contracts.collective import Collective
from ..contracts.collective_cost import CollectiveCost
from ..contracts.transport import Program, ReduceOp
from ..errors import Deep500Error
from ._groups import among
from ._trees import broadcast_from, reduce_to_first
from .binomial_tree import BinomialTree
from .native import Native
from .ring import Ring


class Hierarchical(Collective):
    """Few messages between machines: ranks of a machine reduce and broadcast by trees, and `across` connects machines.

    `group` is how many neighbouring ranks share a machine; the last machine may have fewer. By default it is the power
    of two next below the root of P.
    """

    group: int | None = None
    across: Collective = Ring()

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        self.check(size)
        leaders = range(0, size, self._group(size))
        leader = rank - rank % self._group(size)
        members = range(leader, min(size, leader + self._group(size)))
        place, count = rank - leader, len(members)
        reduction = reduce_to_first(place, count, array, op, self.tag)
        yield from among(members, reduction)
        if rank == leader and len(leaders) > 1:
            across = replace(self.across, tag=self.tag)
            number = leaders.index(rank)
            between = across.all_reduce(number, len(leaders), array, op)
            yield from among(leaders, between)
        shared = broadcast_from(0, place, count, array, self.tag)
        yield from among(members, shared)

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        group = self._group(size)
        inside = BinomialTree().cost("all_reduce", group, count, gamma)
        machines = -(-size // group)
        between = self.across.cost("all_reduce", machines, count, gamma)
        # the last message of a machine is still there when the machines begin
        return replace(inside.then(between), memory=inside.memory + between.memory)

    def check(self, size: int) -> None:
        if self.group is not None and self.group < 1:
            raise Deep500Error(
                f"group of Hierarchical is {self.group}: give how many ranks share a machine, 1 or more"
            )
        if isinstance(self.across, Native):
            raise Deep500Error(
                "Hierarchical(across=Native()): the engine's own collectives are for all ranks; give one that sends "
                "messages, such as Ring()"
            )
        if "all_reduce" not in self.across.operations:
            raise Deep500Error(
                f"{self.across} has no all_reduce, which Hierarchical needs: give another as `across`"
            )
        self.across.check(-(-size // self._group(size)))

    def _group(self, size: int) -> int:
        if self.group is None:
            return 1 << (size.bit_length() - 1) // 2
        return min(self.group, size)
