"""A scheme with a planted error, which looks like decentralised SGD."""

import numpy as np

from deep500.contracts.scheme import Scheme, Worker, backprop, update
from deep500.contracts.transport import Program, exchange


class GradientMixing(Scheme):
    """The 2019 "D-PSGD": averages gradients with both neighbours, and never parameters."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = worker.gradients()
        left, right = (worker.rank - 1) % worker.size, (worker.rank + 1) % worker.size
        for buffer in gradients.values():
            outgoing = buffer.copy()
            from_left = yield from exchange(
                right, outgoing, left, np.empty_like(buffer)
            )
            from_right = yield from exchange(
                left, outgoing, right, np.empty_like(buffer)
            )
            buffer += from_left + from_right
            buffer /= 3
        worker.set_gradients(gradients)
        yield from update(worker)
