"""EASGD (Zhang, Choromanska and LeCun, 2015), synchronous: replicas are tied to a common centre by springs."""

import numpy as np

from ..contracts.scheme import Buffers, Scheme, Worker, backprop, update
from ..contracts.transport import Program, all_reduce
from ..errors import Deep500Error
from ._averaging import copies, scale

CENTRE = "centre"


class ElasticAveraging(Scheme):
    """Every `period` steps: x_i ← x_i − α (x_i − c), c ← c + α Σ (x_i − c), both from the values before.

    So the sum of all x_i and c stays what it was. The gradient is taken before the replicas move. Every rank holds a
    copy of the centre c, which is evaluated; α is at most 1 / P, where the centre becomes the average of the replicas.
    """

    alpha: float = 0.1
    period: int = 1

    @property
    def averages(self) -> bool:
        return False  # the centre lags behind the replicas

    def check(self, size: int) -> None:
        if not 0 <= self.alpha * size <= 1 + 1e-9 or self.period < 1:
            raise Deep500Error(
                f"elastic averaging with alpha = {self.alpha:g} and a period of {self.period} is not "
                f"stable on {size} ranks: give an alpha from 0 to {1 / size:.4g} and a period of 1 "
                "or more"
            )

    def start(self, worker: Worker) -> Program:
        yield from super().start(worker)
        set_centre(worker, worker.params())

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        if worker.step_count % self.period == 0:
            yield from self._pull(worker)
        yield from update(worker)

    def _pull(self, worker: Worker) -> Program:
        """Move this replica and the centre towards each other."""
        centre = get_centre(worker)
        params = copies(worker.params())
        for dtype, buffer in params.items():
            pull = buffer - centre[dtype]
            scale(pull, self.alpha)
            buffer -= pull
            yield from all_reduce(pull)
            centre[dtype] += pull
        worker.set_params(params)
        set_centre(worker, centre)

    def model(self, worker: Worker) -> Program:
        yield from ()
        return get_centre(worker)


def get_centre(worker: Worker) -> Buffers:
    """The centre variable, as flat buffers."""
    centre = {}
    for dtype in worker.layout.sizes:
        centre[dtype] = np.array(worker.state[f"{CENTRE} {dtype}"])
    return centre


def set_centre(worker: Worker, centre: Buffers) -> None:
    """Keep the centre variable in the worker's state."""
    for dtype, buffer in centre.items():
        worker.state[f"{CENTRE} {dtype}"] = np.array(buffer)
