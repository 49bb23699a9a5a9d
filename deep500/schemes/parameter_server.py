"""A parameter server: synchronous, stale-synchronous (Ho et al., 2013) or asynchronous; on one rank or several."""

from collections.abc import Callable

import numpy as np

from ..contracts.scheme import (
    Buffers,
    Scheme,
    Worker,
    backprop,
    weighted_gradients,
)
from ..contracts.transport import Compute, Handle, Program, Wait, broadcast
from ..errors import Deep500Error
from ._averaging import begin_send, copies, receive_buffers
from ._partition import Part, partition, views
from ._service import ANSWER_TAG, finish, request, serve


class ParameterServer(Scheme):
    """The last `servers` ranks hold the parameters and the optimizer; the others send gradients and get parameters.

    staleness   How many steps a rank may be ahead of the slowest one: 0 waits for all gradients of a step and applies
                their sum (synchronous), a number s applies gradients as they come and lets a rank begin step c + 1
                once all others have done step c - s, None never waits (asynchronous).
    servers     Tensors are divided between so many servers; with `staleness` other than 0, a rank may then read
                different tensors in different versions.

    Gradients are weighted by their share of the batch. "staleness" is recorded by the servers for every update: how
    many updates came between reading the parameters and applying the gradient.
    """

    staleness: int | None = 0
    servers: int = 1

    def check(self, size: int) -> None:
        if self.servers < 1 or self.servers >= size:
            raise Deep500Error(
                f"{self.servers} of {size} ranks cannot be servers: give 1 to {max(1, size - 1)}, and "
                "at least 2 ranks"
            )
        if self.staleness is not None and self.staleness < 0:
            raise Deep500Error(
                f"a staleness of {self.staleness} is impossible: give 0 or more, or None for no bound"
            )

    def trainers(self, size: int) -> tuple[int, ...]:
        return tuple(range(size - self.servers))

    def epoch(self, worker: Worker) -> Program:
        clients = worker.size - self.servers
        parts = partition(worker.layout, self.servers)
        if worker.rank < clients:
            yield from self._train(worker, parts)
            return
        server = _Server(worker, parts[worker.rank - clients], clients, self.staleness)
        yield from server.run()

    def _train(self, worker: Worker, parts: list[Part]) -> Program:
        first_server = worker.size - self.servers
        for _ in worker.batches():
            yield from backprop(worker)
            gradients = weighted_gradients(worker)
            for number, part in enumerate(parts):
                yield from request(first_server + number, views(gradients, part))
            yield from self._pull(worker, parts)
            worker.skip_update()
        for number in range(self.servers):
            yield from finish(first_server + number)
        yield from self._pull(worker, parts)

    def _pull(self, worker: Worker, parts: list[Part]) -> Program:
        """Replace the replica by the servers' parameters."""
        params = worker.params()
        first_server = worker.size - self.servers
        for number, part in enumerate(parts):
            yield from receive_buffers(
                first_server + number, views(params, part), ANSWER_TAG
            )
        worker.set_params(params)

    def model(self, worker: Worker) -> Program:
        """The parameters of the servers, on every rank."""
        params = copies(worker.params())
        first_server = worker.size - self.servers
        for number, part in enumerate(partition(worker.layout, self.servers)):
            for buffer in views(params, part).values():
                yield from broadcast(buffer, first_server + number)
        return params


class _Server:
    """One server during one epoch."""

    def __init__(self, worker: Worker, part: Part, clients: int, staleness: int | None):
        self.worker = worker
        self.part = part
        self.clients = clients
        self.staleness = staleness
        self.version = 0  # updates in this epoch
        self.version_read = dict.fromkeys(range(clients), 0)
        self.steps_done = dict.fromkeys(range(clients), 0)
        self.training = set(range(clients))
        # clients without an answer, with their gradients
        self.waiting: dict[int, Buffers] = {}
        self.answers: dict[int, list[Handle]] = {}  # that are being sent
        self.memory: dict[int, Buffers] = {}  # which they are sent from

    def run(self) -> Program:
        is_synchronous = self.staleness == 0
        on_gradient = self._collect if is_synchronous else self._apply_at_once
        yield from serve(
            self.clients, self._new_payload, on_gradient, self._client_done
        )
        for client in range(self.clients):
            yield from self._answer(client)
        for handles in self.answers.values():
            yield Wait(handles)

    def _new_payload(self) -> Buffers:
        return copies(views(self.worker.layout.zeros(), self.part))

    def _collect(self, client: int, gradients: Buffers) -> Program:
        """Synchronous: wait for the gradients of all clients, and add them up in the order of the ranks."""
        self.waiting[client] = gradients
        if len(self.waiting) < len(self.training):
            return
        total = self._new_payload()
        for rank in sorted(self.waiting):
            for dtype, buffer in self.waiting[rank].items():
                total[dtype] += buffer
        yield Compute(self._update(total))
        self._record_staleness(0)
        for rank in sorted(self.waiting):
            yield from self._answer(rank)
        self.waiting.clear()

    def _apply_at_once(self, client: int, gradients: Buffers) -> Program:
        """Apply a gradient when it comes; answer everyone who is not too far ahead."""
        self._record_staleness(self.version - self.version_read[client])
        yield Compute(self._update(gradients))
        self.version += 1
        self.steps_done[client] += 1
        self.waiting[client] = gradients
        yield from self._answer_allowed()

    def _client_done(self, client: int) -> Program:
        """A client that has no more steps holds up nobody."""
        self.training.discard(client)
        if self.staleness != 0:
            yield from self._answer_allowed()

    def _answer_allowed(self) -> Program:
        for client in sorted(self.waiting):
            if self._may_go_on(client):
                del self.waiting[client]
                yield from self._answer(client)

    def _may_go_on(self, client: int) -> bool:
        if self.staleness is None:
            return True
        slowest = min(self.steps_done[rank] for rank in self.training)
        return slowest >= self.steps_done[client] - self.staleness

    def _update(self, gradients: Buffers) -> Callable[[], None]:
        """A function that applies the optimizer to the tensors of this server."""
        whole = self.worker.layout.zeros()
        for dtype, buffer in views(whole, self.part).items():
            np.copyto(buffer, gradients[dtype])
        return lambda: self.worker.apply(whole)

    def _answer(self, client: int) -> Program:
        """Begin to send the parameters to a client, from memory that later updates do not touch."""
        if client in self.answers:
            yield Wait(self.answers.pop(client))
        self.version_read[client] = self.version
        self.memory[client] = copies(views(self.worker.params(), self.part))
        self.answers[client] = yield from begin_send(
            client, self.memory[client], ANSWER_TAG
        )

    def _record_staleness(self, updates: int) -> None:
        self.worker.record("staleness", updates)
