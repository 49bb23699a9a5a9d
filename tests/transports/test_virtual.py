"""Virtual ranks: golden times of LogGOPSim, deadlocks and lost ranks by name, exact counters."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deep500.collectives.native import Native
from deep500.collectives.ring import Ring
from deep500.contracts.collective import Collective
from deep500.contracts.loggp import LogGP
from deep500.contracts.transport import (
    AllReduce,
    Compute,
    Deadlock,
    Now,
    Poll,
    Program,
    RankFailure,
    Recv,
    RecvAny,
    Send,
    Wait,
    WaitAny,
    all_gather,
    all_reduce,
    barrier,
    broadcast,
    exchange,
    receive,
    send,
)
from deep500.errors import Deep500Error
from deep500.transports.virtual import Virtual

LOGGOPSIM = LogGP(L=2500, o=1500, g=1000, G=6)  # its defaults, in nanoseconds
FREE = LogGP(L=0, o=0, g=0, G=0)


def dissemination(rank: int, size: int) -> Program:
    distance = 1
    while distance < size:
        outgoing, incoming = np.zeros(1, np.uint8), np.zeros(1, np.uint8)
        to, source = (rank + distance) % size, (rank - distance) % size
        yield from exchange(to, outgoing, source, incoming, distance)
        distance *= 2


def binomial_reduce(rank: int, size: int) -> Program:
    array, incoming = np.zeros(1024, np.uint8), np.zeros(1024, np.uint8)
    half = size // 2
    while half:
        if rank < half:
            yield from receive(rank + half, incoming, half)
        elif rank < 2 * half:
            yield from send(rank - half, array, half)
            return
        half //= 2


def test_dissemination_takes_the_time_of_loggopsim() -> None:
    virtual = Virtual(16, LOGGOPSIM)
    virtual.run(lambda rank: dissemination(rank, 16))
    assert set(virtual.clocks.values()) == {22000}


def test_a_binomial_reduction_takes_the_times_of_loggopsim() -> None:
    virtual = Virtual(8, LOGGOPSIM)
    virtual.run(lambda rank: binomial_reduce(rank, 8))
    assert [*virtual.clocks.values()] == [
        34914,
        24776,
        13138,
        13138,
        1500,
        1500,
        1500,
        1500,
    ]


@pytest.mark.parametrize("size", [2, 3, 4, 7, 8])
def test_a_ring_takes_its_closed_form(size: int) -> None:
    """2 L (P - 1) + 2 m G (P - 1) / P with o = g = 0; a message streams its bytes behind the first."""
    virtual = Virtual(size, LogGP(L=1000, o=0, g=0, G=2))
    array = np.zeros(size * 128)
    virtual.run(lambda rank: Ring().all_reduce(rank, size, array.copy()))
    piece = array.nbytes // size
    assert virtual.seconds == 2 * (size - 1) * (1000 + 2 * (piece - 1))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 16])
@pytest.mark.parametrize("length", [0, 1, 5, 1001])
def test_a_ring_reduces_and_counts_what_it_sends(size: int, length: int) -> None:
    rng = np.random.default_rng(size)
    arrays = rng.integers(-99, 99, (size, length)).astype(np.float32)

    def program(rank: int) -> Program:
        array = arrays[rank].copy()
        yield from Ring().all_reduce(rank, size, array)
        return array

    virtual = Virtual(size, FREE)
    results = virtual.run(program)
    for result in results.values():
        assert np.array_equal(result, arrays.sum(axis=0))
    pieces = [4 * len(piece) for piece in np.array_split(np.zeros(length), size)]
    for rank, traffic in virtual.traffic.items():
        forwarded = [pieces[(rank - turn) % size] for turn in range(size - 1)]
        forwarded += [pieces[(rank + 1 - turn) % size] for turn in range(size - 1)]
        assert traffic.bytes.get("Send", 0) == sum(forwarded)
        assert traffic.messages.get("Send", 0) == 2 * (size - 1)
    sent = sum(traffic.bytes.get("Send", 0) for traffic in virtual.traffic.values())
    received = sum(traffic.bytes.get("Recv", 0) for traffic in virtual.traffic.values())
    assert sent == received


@pytest.mark.parametrize("size", [2, 3, 8])
def test_a_native_allreduce_counts_what_a_ring_sends(size: int) -> None:
    """So that the two are comparable: all ranks together send the same number of bytes."""

    def sent(collective: Collective) -> int:
        def program(rank: int) -> Program:
            yield from collective.all_reduce(rank, size, np.zeros(96, np.float32))

        virtual = Virtual(size, FREE)
        virtual.run(program)
        return sum(traffic.sent_bytes for traffic in virtual.traffic.values())

    assert sent(Native()) == sent(Ring()) == 2 * 4 * 96 * (size - 1)


def test_native_collectives_give_every_rank_the_result() -> None:
    def program(rank: int) -> Program:
        total = np.array([rank, 1.0])
        yield from Native().all_reduce(rank, 3, total)
        largest = np.array([float(rank)])
        yield from all_reduce(largest, "max")
        shared = np.array([float(rank)])
        yield from broadcast(shared, root=2)
        parts = yield from all_gather(np.full(rank, rank), uneven=True)
        yield from barrier()
        return total.tolist(), largest[0], shared[0], [part.tolist() for part in parts]

    virtual = Virtual(3)
    results = virtual.run(program)
    assert [*results.values()] == [([3.0, 3.0], 2.0, 2.0, [[], [1], [2, 2]])] * 3
    assert virtual.traffic[2].bytes == {
        "AllReduce": 22 + 11,  # 2 n (P - 1) / P of 16 and of 8 bytes, rounded up
        "Broadcast": 11,  # it is the root
        "AllGather": 32,  # 16 bytes to 2 others
        "Barrier": 0,
    }
    assert virtual.traffic[0].bytes["Broadcast"] == 6
    assert virtual.traffic[2].modelled_bytes == virtual.traffic[2].sent_bytes
    assert virtual.traffic[2].messages["AllReduce"] == 2


def test_sums_are_in_the_order_of_the_ranks() -> None:
    values = [1e8, 1.0, -1e8]  # float32: 1e8 + 1 is 1e8

    def program(rank: int) -> Program:
        array = np.array([values[rank]], np.float32)
        yield from all_reduce(array)
        return float(array[0])

    assert Virtual(3).run(program) == {0: 0.0, 1: 0.0, 2: 0.0}


def test_a_deadlock_names_its_cycle() -> None:
    def program(rank: int) -> Program:
        yield from receive((rank + 1) % 3, np.zeros(1))

    with pytest.raises(Deadlock, match="deadlock of ranks 0 -> 1 -> 2 -> 0") as raised:
        Virtual(3).run(program)
    assert raised.value.cycle == (0, 1, 2)


def test_a_message_that_never_comes_names_the_rank_that_has_ended() -> None:
    def program(rank: int) -> Program:
        if rank == 0:
            yield from receive(1, np.zeros(1), tag=5)

    with pytest.raises(
        Deadlock, match=r"rank 0 waits for .* rank 1 \(tag 5\).* has ended"
    ):
        Virtual(2).run(program)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            (AllReduce(np.zeros(2)), AllReduce(np.zeros(3))),
            r"number 1 is AllReduce\(float64, \[2\]",
        ),
        ((AllReduce(np.zeros(1)), Send(0, np.zeros(1))), "has ended"),
        (
            (Send(1, np.zeros(1)), Recv(0, np.zeros(2))),
            r"expects float64\[2\] from rank 0",
        ),
        (
            (Send(1, np.zeros(1)), Recv(0, np.zeros(1), tag=3)),
            "never received|has ended",
        ),
        ((Send(2, np.zeros(1)), Compute(float)), "communicates with rank 2"),
        (("Send", Compute(float)), "no communication step"),
    ],
)
def test_ranks_that_do_not_go_together_are_refused(
    steps: tuple[Any, Any], message: str
) -> None:
    def program(rank: int) -> Program:
        answer = yield steps[rank]
        if isinstance(answer, int):
            yield Wait([answer])

    with pytest.raises(Deep500Error, match=message):
        Virtual(2).run(program)


def test_a_message_that_nobody_receives_is_refused() -> None:
    def program(rank: int) -> Program:
        if rank == 0:
            yield from send(1, np.zeros(4))

    with pytest.raises(Deep500Error, match=r"float64\[4\] to rank 1 .* never received"):
        Virtual(2).run(program)


def all_reduces(rank: int) -> Program:
    array = np.ones(3)
    for _ in range(4):
        yield from all_reduce(array)


def passing_on(rank: int) -> Program:
    """A message goes round a ring of five, twice."""
    array = np.ones(2)
    for turn in range(2):
        if rank or turn:
            yield from receive((rank - 1) % 5, array, turn)
        if rank < 4 or turn == 0:
            yield from send((rank + 1) % 5, array, turn + (rank == 4))


@pytest.mark.parametrize("program", [all_reduces, passing_on])
@pytest.mark.parametrize("step", range(4))
@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_dies_at_any_step_is_named(
    program: Callable[[int], Program], step: int, victim: int
) -> None:
    with pytest.raises(RankFailure, match=f"rank {victim} is lost") as raised:
        Virtual(5, kill={victim: step}).run(program)
    assert raised.value.ranks == (victim,)


def test_a_survivor_may_go_on_without_the_dead() -> None:
    def program(rank: int) -> Program:
        array = np.full(1, rank)
        if rank == 1:
            yield from send(0, array)
            return None
        try:
            yield from receive(1, array)
        except RankFailure as failure:
            return failure.ranks
        return None

    virtual = Virtual(2, kill={1: 0}, deadline=7)
    assert virtual.run(program)[0] == (1,)
    assert virtual.clocks[0] == 7


def test_a_timeout_names_who_is_late() -> None:
    def program(rank: int) -> Program:
        array = np.zeros(1)
        if rank == 0:
            handle = yield Recv(1, array)
            yield Wait([handle], timeout=0.5)
        else:
            yield Compute(float, seconds=1.0)
            yield from send(0, array)

    with pytest.raises(RankFailure, match="rank 1 did not come within 0.5 s") as raised:
        Virtual(2).run(program)
    assert raised.value.ranks == (1,)


def test_whoever_sends_first_is_received_first() -> None:
    def program(rank: int) -> Program:
        array = np.full(1, rank)
        if rank:
            yield Compute(float, seconds=4.0 - rank)
            yield from send(0, array, tag=1)
            return None
        order = []
        for _ in range(3):
            handle = yield RecvAny(np.zeros(1, int), tag=1)
            [arrival] = yield Wait([handle])
            assert arrival.array[0] == arrival.source
            order.append(arrival.source)
        return order

    assert Virtual(4).run(program)[0] == [3, 2, 1]


def test_waiting_for_any_and_polling_follow_the_clock() -> None:
    def program(rank: int) -> Program:
        if rank:
            yield Compute(float, seconds=float(rank))
            yield from send(0, np.full(1, rank))
            return None
        arrays = [np.zeros(1, int), np.zeros(1, int)]
        handles = []
        for source, array in zip((2, 1), arrays, strict=True):
            handle = yield Recv(source, array)
            handles.append(handle)
        early = yield Poll(handles)
        index, array = yield WaitAny(handles)
        moment = yield Now()
        later = yield Wait([handles[0]])
        return early, index, int(array[0]), moment, int(later[0][0])

    assert Virtual(3, FREE).run(program)[0] == ([], 1, 1, 1.0, 2)


def test_computing_hides_communication() -> None:
    """A message of 9 s streams while its receiver computes for 10 s: only the overhead is left to pay."""

    def program(rank: int) -> Program:
        array = np.zeros(10, np.uint8)
        if rank == 0:
            yield from send(1, array)
            return None
        handle = yield Recv(0, array)
        yield Compute(float, seconds=10.0)
        yield Wait([handle])
        return (yield Now())

    virtual = Virtual(2, LogGP(L=0, o=0.25, g=0, G=1))
    assert virtual.run(program)[1] == 10.25
    assert virtual.waited[1] == 0.25


def test_slow_ranks_compute_longer_and_runs_go_on_in_time() -> None:
    virtual = Virtual(2, FREE, compute=1.0, speed={1: 3.0})

    def program(rank: int) -> Program:
        yield Compute(float)
        yield from barrier()

    virtual.run(program)
    virtual.run(program)
    assert virtual.seconds == 6.0 and virtual.waited == {0: 4.0, 1: 0.0}


@pytest.mark.parametrize("bad", [{"L": -1.0}, {"G": math.nan}])
def test_a_network_that_cannot_be_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(Deep500Error, match="of LogGP is"):
        LogGP(**bad)
    with pytest.raises(Deep500Error, match="virtual ranks"):
        Virtual(0)


def test_long_sends_wait_for_their_receivers() -> None:
    """Two ranks that send before they receive get on with short messages, and block with long ones."""

    def program(rank: int) -> Program:
        array, incoming = np.ones(100), np.empty(100)
        yield from send(1 - rank, array)
        yield from receive(1 - rank, incoming)

    Virtual(2, eager_bytes=800).run(program)
    with pytest.raises(Deadlock, match="deadlock of ranks 0 -> 1 -> 0: rank 0 waits "):
        Virtual(2, eager_bytes=799).run(program)


def test_a_long_send_ends_when_its_receiver_is_there() -> None:
    network = LogGP(L=3.0, o=1.0, g=2.0, G=0.0)

    def program(rank: int) -> Program:
        if rank:
            yield Compute(lambda: None, seconds=50.0)
            yield from receive(0, np.empty(5))
        else:
            yield from send(1, np.ones(5))
        return (yield Now())

    assert Virtual(2, network).run(program)[0] == 1.0
    assert Virtual(2, network, eager_bytes=8).run(program)[0] == 50.0
