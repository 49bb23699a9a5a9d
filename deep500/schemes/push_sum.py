"""Stochastic gradient push (Assran et al., 2019): gossip over a directed graph, with push-sum weights."""

import numpy as np

from ..contracts.scheme import Buffers, Scheme, Worker, backprop, update
from ..contracts.transport import Program, Wait
from ._averaging import average, begin_receive, begin_send, copies, scale

TAG = 300
WEIGHT_TAG = 390
WEIGHT = "push-sum weight"


class PushSum(Scheme):
    """After every step, each rank keeps half of (x, w) and pushes the other half to one random rank.

    Nobody waits for an answer, and a rank may receive from several or from none. The parameters that train and are
    evaluated are x / w: without the weights w, ranks that receive often would count too much. All ranks draw the same
    targets, by the seed and the step.
    """

    seed: int = 0

    def start(self, worker: Worker) -> Program:
        yield from super().start(worker)
        worker.state[WEIGHT] = np.ones(1)

    def step(self, worker: Worker) -> Program:
        targets = self.targets(worker.size, worker.step_count)
        before = copies(worker.params())
        yield from backprop(worker)
        yield from update(worker)
        if worker.size == 1:
            return
        weight = worker.state[WEIGHT]
        biased = _biased(before, worker.params(), float(weight[0]))
        for buffer in biased.values():
            scale(buffer, 0.5)
        half = weight * 0.5
        sums, total = yield from self._push(worker, targets, biased, half)
        for buffer in sums.values():
            scale(buffer, 1 / float(total[0]))
        worker.state[WEIGHT] = total
        worker.set_params(sums)

    def targets(self, size: int, step: int) -> list[int]:
        """The rank that each rank pushes to after this step: any other one."""
        if size == 1:
            return [0]
        rng = np.random.default_rng([self.seed, step])
        distances = rng.integers(1, size, size)
        targets = (np.arange(size) + distances) % size
        return targets.tolist()

    def _push(
        self,
        worker: Worker,
        targets: list[int],
        outgoing: Buffers,
        weight: np.ndarray,
    ) -> Program:
        """The value: one's own half plus all that was received, and the sum of their weights."""
        target = targets[worker.rank]
        sources = [rank for rank, to in enumerate(targets) if to == worker.rank]
        incoming = {rank: worker.layout.zeros() for rank in sources}
        weights = {rank: {"weight": np.empty(1)} for rank in sources}
        handles = []
        for rank in sources:
            handles += yield from begin_receive(rank, incoming[rank], TAG)
            handles += yield from begin_receive(rank, weights[rank], WEIGHT_TAG)
        handles += yield from begin_send(target, outgoing, TAG)
        handles += yield from begin_send(target, {"weight": weight}, WEIGHT_TAG)
        yield Wait(handles)
        total = weight.copy()
        sums = copies(outgoing)
        for rank in sources:
            total += weights[rank]["weight"]
            for dtype, buffer in incoming[rank].items():
                sums[dtype] += buffer
        return sums, total

    def model(self, worker: Worker) -> Program:
        """The sum of all x over the sum of all w, which is the number of ranks."""
        biased = copies(worker.params())
        weight = float(worker.state.get(WEIGHT, np.ones(1))[0])
        yield from average(biased, weight / worker.size)
        return biased


def _biased(before: Buffers, after: Buffers, weight: float) -> Buffers:
    """x = w z, moved by what the optimizer did to z."""
    biased = {}
    for dtype, old in before.items():
        change = after[dtype] - old
        scale(old, weight)
        biased[dtype] = old + change
    return biased
