"""EASGD (Zhang, Choromanska and LeCun, 2015), asynchronous: a server holds the centre that replicas are tied to."""

from ..contracts.scheme import Buffers, Scheme, Worker, backprop, update
from ..contracts.transport import Program, broadcast
from ..errors import Deep500Error
from ._averaging import copies, receive_buffers, scale, send_buffers
from ._service import ANSWER_TAG, finish, request, serve
from .elastic_averaging import get_centre, set_centre


class AsyncElasticAveraging(Scheme):
    """The last rank is the server. Every `period` steps, a rank sends its parameters x and gets d = α (x − c) back.

    The rank moves by −d and the centre c by +d, at once and for one rank after another, so that the sum of all x and c
    stays what it was. Nobody waits for other ranks. The centre is evaluated.
    """

    alpha: float = 0.1
    period: int = 4

    @property
    def averages(self) -> bool:
        return False  # the centre lags behind the replicas

    def check(self, size: int) -> None:
        if size < 2:
            raise Deep500Error(
                "asynchronous elastic averaging needs a server: give 2 ranks or more"
            )
        if not 0 <= self.alpha <= 1 or self.period < 1:
            raise Deep500Error(
                f"elastic averaging with alpha = {self.alpha:g} and a period of {self.period} is "
                "impossible: give an alpha from 0 to 1 and a period of 1 or more"
            )

    def trainers(self, size: int) -> tuple[int, ...]:
        return tuple(range(size - 1))

    def start(self, worker: Worker) -> Program:
        yield from super().start(worker)
        set_centre(worker, worker.params())

    def epoch(self, worker: Worker) -> Program:
        server = worker.size - 1
        if worker.rank == server:
            yield from _serve_centre(worker, self.alpha)
            return
        for _ in worker.batches():
            if worker.step_count % self.period == 0:
                yield from self._pull(worker, server)
            yield from backprop(worker)
            yield from update(worker)
        yield from finish(server)

    def _pull(self, worker: Worker, server: int) -> Program:
        params = copies(worker.params())
        pull = worker.layout.zeros()
        yield from request(server, params)
        yield from receive_buffers(server, pull, ANSWER_TAG)
        for dtype, buffer in params.items():
            buffer -= pull[dtype]
        worker.set_params(params)

    def model(self, worker: Worker) -> Program:
        """The server's centre, on every rank."""
        centre = get_centre(worker)
        for buffer in centre.values():
            yield from broadcast(buffer, worker.size - 1)
        return centre


def _serve_centre(worker: Worker, alpha: float) -> Program:
    centre = get_centre(worker)

    def answer(client: int, params: Buffers) -> Program:
        for dtype, buffer in params.items():
            buffer -= centre[dtype]
            scale(buffer, alpha)
            centre[dtype] += buffer
        yield from send_buffers(client, params, ANSWER_TAG)

    def client_done(client: int) -> Program:
        yield from ()

    yield from serve(worker.size - 1, worker.layout.zeros, answer, client_done)
    set_centre(worker, centre)
