"""A synchronous parameter server in two levels: groups of ranks sum their gradients before the root sees them."""

from typing import ClassVar

from ..contracts.scheme import (
    Buffers,
    Scheme,
    Worker,
    backprop,
    weighted_gradients,
)
from ..contracts.transport import Compute, Program
from ..errors import Deep500Error
from ._averaging import copies, receive_buffers, send_buffers

GRADIENT_TAG = 400
PARAMETER_TAG = 450


class HierarchicalParameterServer(Scheme):
    """Rank 0 is the root and holds the optimizer; the first rank of every `group` ranks leads its group.

    All ranks train, the leaders and the root too. Gradients go up from member to leader to root, parameters come down
    the same way. The root sends and receives one message per group instead of one per rank.
    """

    group: int = 2
    synchronous: ClassVar[bool] = True

    def check(self, size: int) -> None:
        if self.group < 1:
            raise Deep500Error(
                f"groups of {self.group} ranks are impossible: give 1 or more"
            )

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = copies(weighted_gradients(worker))
        parent = self.parent(worker.rank)
        children = self.children(worker.rank, worker.size)
        yield from _add_children(worker, gradients, children)
        if parent is None:
            worker.set_gradients(gradients)
            yield Compute(worker.update)
            params = copies(worker.params())
        else:
            yield from send_buffers(parent, gradients, GRADIENT_TAG)
            params = worker.layout.zeros()
            yield from receive_buffers(parent, params, PARAMETER_TAG)
        for child in children:
            yield from send_buffers(child, params, PARAMETER_TAG)
        if parent is not None:
            worker.set_params(params)
            worker.skip_update()

    def parent(self, rank: int) -> int | None:
        """The rank that gradients are sent to; None for the root."""
        leader = rank - rank % self.group
        if rank == 0:
            return None
        if rank == leader:
            return 0
        return leader

    def children(self, rank: int, size: int) -> list[int]:
        """The ranks whose gradients are received, in order."""
        return [other for other in range(1, size) if self.parent(other) == rank]


def _add_children(worker: Worker, gradients: Buffers, children: list[int]) -> Program:
    """Add the gradients of all children, in the order of their ranks."""
    incoming = worker.layout.zeros()
    for child in children:
        yield from receive_buffers(child, incoming, GRADIENT_TAG)
        for dtype, buffer in gradients.items():
            buffer += incoming[dtype]
