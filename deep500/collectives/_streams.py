"""Streams and payloads of unknown length as messages: how many entries (or bytes) there are, then the bytes."""

from collections.abc import Sequence

import numpy as np

from ..contracts.collective_cost import CollectiveCost, rounds_to_all
from ..contracts.sparse_stream import SparseStream, payload_bytes, received_stream
from ..contracts.transport import Handle, Program, Recv, Send, Wait, wait
from ..errors import Deep500Error

HEADER = 8  # bytes, the number of entries; -1 for a dense stream
DENSE = -1


def begin_send(to: int, stream: SparseStream, tag: int) -> Program:
    """Begin to send a stream; the value is the handles."""
    entries = DENSE if stream.is_dense else stream.entries
    header = yield Send(to, np.array([entries], np.int64), tag)
    payload = yield Send(to, stream.payload(), tag, announced=True)
    return [header, payload]


def receive_behind(
    header: Handle, numbers: np.ndarray, source: int, like: SparseStream, tag: int
) -> Program:
    """Receive the stream whose header is on its way; it has the size and the dtype of `like`."""
    yield from wait(header)
    [entries] = numbers.tolist()
    if not DENSE <= entries <= like.size:
        raise Deep500Error(
            f"rank {source} announced a stream with {entries} entries of {like.size}"
        )
    is_dense = entries == DENSE
    count = like.size if is_dense else entries
    payload = np.empty(payload_bytes(count, like.dtype, is_dense), np.uint8)
    handle = yield Recv(source, payload, tag, announced=True)
    yield from wait(handle)
    return received_stream(payload, entries, like.size, like.dtype)


def receive_stream(source: int, like: SparseStream, tag: int) -> Program:
    numbers = np.zeros(1, np.int64)
    header = yield Recv(source, numbers, tag)
    return (yield from receive_behind(header, numbers, source, like, tag))


def exchange_streams(partner: int, stream: SparseStream, tag: int) -> Program:
    """Send a stream and receive the partner's; the value is the latter."""
    numbers = np.zeros(1, np.int64)
    header = yield Recv(partner, numbers, tag)
    sends = yield from begin_send(partner, stream, tag)
    received = yield from receive_behind(header, numbers, partner, stream, tag)
    yield Wait(sends)
    return received


def scattered(rank: int, size: int, parts: Sequence[SparseStream], tag: int) -> Program:
    """Send part r to rank r; the value is the parts that this rank gets, in the order of the ranks."""
    headers = {}
    for distance in range(1, size):
        source = (rank - distance) % size
        numbers = np.zeros(1, np.int64)
        headers[source] = (yield Recv(source, numbers, tag)), numbers
    sends: list[Handle] = []
    for distance in range(1, size):
        to = (rank + distance) % size
        sends += yield from begin_send(to, parts[to], tag)
    received = {rank: parts[rank]}
    for source, (header, numbers) in headers.items():
        stream = yield from receive_behind(header, numbers, source, parts[rank], tag)
        received[source] = stream
    yield Wait(sends)
    return [received[source] for source in range(size)]


def all_gathered(rank: int, size: int, payload: np.ndarray, tag: int) -> Program:
    """The payloads (uint8) of all ranks, in the order of the ranks, in log2 P rounds (Bruck et al., 1997)."""
    held = [payload]
    while len(held) < size:
        distance = len(held)
        count = min(distance, size - distance)
        to, source = (rank - distance) % size, (rank + distance) % size
        lengths = np.array([part.size for part in held[:count]], np.int64)
        incoming = np.empty_like(lengths)
        header = yield Recv(source, incoming, tag)
        sends = [(yield Send(to, lengths, tag))]
        joined = np.concatenate(held[:count])
        sends.append((yield Send(to, joined, tag, announced=True)))
        yield from wait(header)
        if (incoming < 0).any():
            raise Deep500Error(f"rank {source} announced payloads of {incoming} bytes")
        parts = np.empty(int(incoming.sum()), np.uint8)
        body = yield Recv(source, parts, tag, announced=True)
        yield Wait([body, *sends])
        held += np.split(parts, np.cumsum(incoming)[:-1])
    return [held[(source - rank) % size] for source in range(size)]


def exchange_cost(nbytes: Sequence[float]) -> CollectiveCost:
    """Of exchanges of streams with so many bytes each, in turn."""
    return CollectiveCost(
        messages=2 * len(nbytes),
        bytes=sum(nbytes) + HEADER * len(nbytes),
        rounds=tuple((1, each) for each in nbytes),
        # the header before it, and what the processor does for it
        spacings=((len(nbytes), HEADER, 2),),
        handled=len(nbytes),
    )


def scatter_cost(size: int, nbytes: float) -> CollectiveCost:
    """Of sending every other rank a part of so many bytes."""
    others = size - 1
    return CollectiveCost(
        messages=2 * others,
        bytes=others * (nbytes + HEADER),
        rounds=((1, nbytes),),
        spacings=((others - 1, nbytes, 1), (others, HEADER, 1)),
        handled=2 * others,
    )


def gather_cost(size: int, nbytes: float) -> CollectiveCost:
    """Of payloads of so many bytes from every rank."""
    lengths = []
    for turn in range(rounds_to_all(size)):
        lengths.append(min(1 << turn, size - (1 << turn)))
    return CollectiveCost(
        messages=2 * len(lengths),
        bytes=sum(count * (nbytes + HEADER) for count in lengths),
        rounds=tuple((1, count * nbytes) for count in lengths),
        spacings=tuple((1, count * HEADER, 2) for count in lengths),
        handled=len(lengths),
    )
