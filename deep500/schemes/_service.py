"""A server and its clients: requests in the order in which they arrive, until every client is done."""

from collections.abc import Callable, Mapping

import numpy as np

from ..contracts.scheme import Buffers
from ..contracts.transport import Program, RecvAny, send, wait
from ._averaging import receive_buffers, send_buffers

REQUEST_TAG = 1000  # of the word that announces a request
PAYLOAD_TAG = 1001
ANSWER_TAG = 1100
REQUEST, DONE = 1, 0

Answer = Callable[[int, Buffers], Program]


def request(server: int, payload: Mapping[str, np.ndarray]) -> Program:
    """Send a request to a server; its answer is received with ANSWER_TAG."""
    yield from send(server, np.array([REQUEST]), REQUEST_TAG)
    yield from send_buffers(server, payload, PAYLOAD_TAG)


def finish(server: int) -> Program:
    """Tell a server that there are no more requests in this epoch."""
    yield from send(server, np.array([DONE]), REQUEST_TAG)


def serve(
    clients: int,
    new_payload: Callable[[], Buffers],
    answer: Answer,
    client_done: Callable[[int], Program],
) -> Program:
    """Receive requests and pass them on, until so many clients are done."""
    finished = 0
    word = np.empty(1, np.int64)
    while finished < clients:
        handle = yield RecvAny(word, REQUEST_TAG)
        arrival = yield from wait(handle)
        if word[0] == DONE:
            finished += 1
            yield from client_done(arrival.source)
            continue
        payload = new_payload()
        yield from receive_buffers(arrival.source, payload, PAYLOAD_TAG)
        yield from answer(arrival.source, payload)
