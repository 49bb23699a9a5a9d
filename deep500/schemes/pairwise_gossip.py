"""Gossip in pairs: after every step, each rank averages its parameters with one random partner."""

import numpy as np

from ..contracts.scheme import Scheme, Worker, backprop, update
from ..contracts.transport import Program, Wait
from ._averaging import average, copies, exchange_with_all

TAG = 200


class PairwiseGossip(Scheme):
    """All ranks draw the same pairs, by the seed and the step; with an odd number, one rank stays alone.

    The average of all replicas is evaluated.
    """

    seed: int = 0

    def step(self, worker: Worker) -> Program:
        partner = self.partner(worker.rank, worker.size, worker.step_count)
        yield from backprop(worker)
        yield from update(worker)
        if partner is None:
            return
        params = copies(worker.params())
        partners_params = worker.layout.zeros()
        handles = yield from exchange_with_all(params, {partner: partners_params}, TAG)
        yield Wait(handles)
        for dtype, buffer in params.items():
            buffer += partners_params[dtype]
            buffer *= 0.5
        worker.set_params(params)

    def partner(self, rank: int, size: int, step: int) -> int | None:
        """The rank to average with after this step; None for the one that is left over."""
        order = np.random.default_rng([self.seed, step]).permutation(size)
        place = int(np.flatnonzero(order == rank)[0])
        partners_place = place ^ 1
        if partners_place >= size:
            return None
        return int(order[partners_place])

    def model(self, worker: Worker) -> Program:
        params = copies(worker.params())
        yield from average(params, 1 / worker.size)
        return params
