"""One rank of a launch: python -m deep500.bench.compression.rank FOLDER, started by a launcher of PyTorch's kind."""

import random
import sys
import time
from pathlib import Path

import numpy as np

from ...contracts.scheme import Scheme
from ...contracts.transport import (
    Program,
    Transport,
    all_reduce,
    barrier,
    broadcast,
    exchange,
    receive,
    send,
)
from ...definition_text import scheme_of
from ...distributed.communication import process_transport
from ..ranks import carried_out, rank_process, request_of
from .documents import MethodOnRank, RankMethods, StepsRequest
from .training import OwnReplicas, recipe_of

LEAST_ROUNDS = 2
MOST_ROUNDS = 50
TAG = 7
TRIPS = 5
# seconds that the shorter of two messages takes, from which the gap per byte follows
MESSAGE_S = 0.05
MOST_BYTES = 4_000_000


def measured(transport: Transport, request: StepsRequest) -> RankMethods:
    """All schemes in turn, in a new order in every round."""
    rows = [MethodOnRank(method) for method in request.methods]
    replicas = []
    for method in request.methods:
        recipe = recipe_of(method, request.hidden, request.batch)
        replicas.append(OwnReplicas(recipe, transport, request.seed))
    schemes = [scheme_of(method) for method in request.methods]
    latency, gap = message_costs(transport, request.mbit)
    for own, scheme in zip(replicas, schemes, strict=True):
        own.run(scheme, 1)
    order = random.Random(request.seed)
    numbers = list(range(len(rows)))
    go_on = np.array([1])
    began = time.monotonic()
    rounds = 0
    while go_on[0]:
        order.shuffle(numbers)
        for number in numbers:
            stretch(replicas[number], schemes[number], request, rows[number])
        rounds += 1
        is_early = time.monotonic() - began < request.seconds
        go_on[0] = rounds < LEAST_ROUNDS or (is_early and rounds < MOST_ROUNDS)
        carried_out(transport, broadcast(go_on))
    return RankMethods(rows, latency, gap)


def stretch(
    replicas: OwnReplicas, scheme: Scheme, request: StepsRequest, row: MethodOnRank
) -> None:
    """Some steps; the time is this rank's, the bytes are those that it sends meanwhile."""
    transport = replicas.transport
    [rank] = transport.ranks
    traffic = transport.traffic[rank]
    carried_out(transport, barrier())
    counted, wire = traffic.sent_bytes, sent_by(request.interface)
    begin = time.perf_counter()
    replicas.run(scheme, request.steps)
    row.seconds.append((time.perf_counter() - begin) / request.steps)
    row.counted.append((traffic.sent_bytes - counted) / request.steps)
    carried_out(transport, barrier())
    if wire is not None:
        row.wire.append(((sent_by(request.interface) or 0) - wire) / request.steps)


def sent_by(interface: str) -> int | None:
    """The bytes that an interface has sent so far, with the headers of Ethernet, IP and TCP."""
    if not interface:
        return None
    file = Path("/sys/class/net") / interface / "statistics" / "tx_bytes"
    return int(file.read_text())


def message_costs(transport: Transport, mbit: float) -> tuple[float, float]:
    """Latency of a short message, and seconds per byte of long ones, which ranks 0 and 1 exchange; the same on all."""
    rate = (mbit or 8000.0) * 1e6 / 8
    short = min(int(rate * MESSAGE_S), MOST_BYTES)
    times = [_exchanged(transport, nbytes) for nbytes in (1, short, 2 * short)]
    trip, once, twice = times
    found = np.array([trip / 2, max(0.0, twice - once) / short])
    carried_out(transport, broadcast(found))
    return float(found[0]), float(found[1])


def _exchanged(transport: Transport, nbytes: int) -> float:
    """Seconds of a trip there and back for one byte, else of sending in both directions at once; the median."""
    [rank] = transport.ranks
    mine, theirs = np.zeros(nbytes, np.uint8), np.empty(nbytes, np.uint8)

    def program(rank: int) -> Program:
        if rank > 1:
            return
        other = 1 - rank
        if nbytes > 1:
            yield from exchange(other, mine, other, theirs, TAG)
        elif rank == 0:
            yield from send(other, mine, TAG)
            yield from receive(other, theirs, TAG)
        else:
            yield from receive(other, theirs, TAG)
            yield from send(other, mine, TAG)

    seconds = []
    for _ in range(TRIPS):
        carried_out(transport, barrier())
        begin = time.perf_counter()
        transport.run(program)
        longest = np.array([time.perf_counter() - begin if rank < 2 else 0.0])
        carried_out(transport, all_reduce(longest, "max"))
        seconds.append(float(longest[0]))
    return sorted(seconds)[TRIPS // 2]


def main() -> None:
    folder = Path(sys.argv[1])
    request = request_of(StepsRequest, folder)
    with rank_process(folder) as finish:
        transport = process_transport("torch", request.deadline)
        finish(transport, measured(transport, request))


if __name__ == "__main__":
    main()
