"""D-PSGD (Lian et al., 2017): every rank averages its parameters with those of its neighbours."""

from ..contracts.scheme import Buffers, Scheme, Worker, backprop, update
from ..contracts.topology import Topology
from ..contracts.transport import Program, Wait
from ..topologies.ring import Ring
from ._averaging import average, copies, exchange_with_all, scale

TAG = 100


class DPSGD(Scheme):
    """X ← X W − γ G(X): parameters are mixed, and the gradient is that of the parameters before the mixing.

    So the exchange goes on during backprop. The average of all replicas is evaluated.
    """

    topology: Topology = Ring()

    def check(self, size: int) -> None:
        self.topology.check(size)

    def step(self, worker: Worker) -> Program:
        params = copies(worker.params())
        weights = self.topology.weights(worker.rank, worker.size)
        incoming = {
            rank: worker.layout.zeros() for rank in weights if rank != worker.rank
        }
        handles = yield from exchange_with_all(params, incoming, TAG)
        yield from backprop(worker)
        yield Wait(handles)
        worker.set_params(_mixed(params, incoming, weights, worker.rank))
        yield from update(worker)

    def model(self, worker: Worker) -> Program:
        params = copies(worker.params())
        yield from average(params, 1 / worker.size)
        return params


def _mixed(
    params: Buffers,
    incoming: dict[int, Buffers],
    weights: dict[int, float],
    rank: int,
) -> Buffers:
    """The weighted sum of one's own parameters and those of the neighbours, in the order of the ranks."""
    replicas = {**incoming, rank: params}
    mixed: Buffers = {}
    for other in sorted(replicas):
        for dtype, buffer in replicas[other].items():
            scale(buffer, weights[other])
            if dtype in mixed:
                mixed[dtype] += buffer
            else:
                mixed[dtype] = buffer
    return mixed
