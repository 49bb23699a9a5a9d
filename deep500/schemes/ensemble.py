"""An ensemble: ranks train alone, and their predictions are averaged."""

from typing import ClassVar

from ..contracts.scheme import Scheme, Worker, backprop, update
from ..contracts.transport import Program


class Ensemble(Scheme):
    """No communication in training: what every scheme that communicates has to beat.

    Every rank trains on its own rows of every batch. An evaluation averages the outputs of all replicas.
    """

    averages_predictions: ClassVar[bool] = True

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        yield from update(worker)
