"""Ranks that cannot go on are named, with what they wait for, and the circle in which they do."""

import pytest

from deep500.cluster.disturbances import Disturbances
from deep500.cluster.engine import simulate_schedule
from deep500.cluster.network import ClusterNetwork
from deep500.cluster.patterns import dissemination
from deep500.cluster.schedule import ANY, CALC, RECV, SEND, Operation, schedule_of
from deep500.cluster.waiting import check_finished
from deep500.errors import Deep500Error


def complaint(programs, disturbances=None):
    schedule = schedule_of(programs)
    outcome = simulate_schedule(schedule, ClusterNetwork(), disturbances)
    with pytest.raises(Deep500Error) as caught:
        check_finished(schedule, outcome.blocked)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def receive_then_send(source, to, nbytes=8):
    return [Operation(RECV, nbytes, source), Operation(SEND, nbytes, to, after=[0])]


def test_what_blocks_has_no_makespan():
    schedule = dissemination(4)
    done = simulate_schedule(schedule, ClusterNetwork())
    death = Disturbances(death={2: 0})
    blocked = simulate_schedule(schedule, ClusterNetwork(), death)
    assert done.makespan == done.nanoseconds.max()
    with pytest.raises(
        Deep500Error, match="4 of 4 ranks are not done, the first is rank 0"
    ):
        assert blocked.makespan


def test_a_circle_of_receives():
    programs = [receive_then_send((r - 1) % 3, (r + 1) % 3) for r in range(3)]
    text = complaint(programs)
    assert "deadlock of ranks 0 -> 2 -> 1 -> 0" in text
    assert "rank 0 waits for a message from rank 2 (tag 0)" in text


def test_a_large_circle_is_not_listed_in_full():
    size = 20_000
    programs = [receive_then_send((r - 1) % size, (r + 1) % size) for r in range(size)]
    text = complaint(programs)
    assert "(20000 ranks)" in text
    assert len(text) < 1000


def test_long_messages_that_nobody_receives_yet():
    programs = []
    for other in (1, 0):
        send = Operation(SEND, 10**6, other)
        programs.append([send, Operation(RECV, 10**6, other, after=[0])])
    text = complaint(programs)
    assert "deadlock of ranks 0 -> 1 -> 0" in text
    assert "too long to be sent" in text


def test_a_rank_that_has_ended():
    text = complaint([[Operation(RECV, 8, 1, 7)], [Operation(CALC, 5)]])
    expected = "rank 0 waits for a message from rank 1 (tag 7), and rank 1 has ended"
    assert expected in text


def test_a_message_from_anyone():
    text = complaint([[Operation(RECV, 8, ANY, ANY)], []])
    assert "rank 0 waits for a message from any rank (any tag)" in text


def test_a_message_that_is_left_over():
    text = complaint([[Operation(SEND, 8, 1, 3)], []])
    assert "rank 0 sent 8 bytes to rank 1 (tag 3), which never received them" in text


def test_operations_that_wait_for_each_other():
    circle = [Operation(CALC, 1, after=[1]), Operation(CALC, 1, after=[0])]
    assert "rank 1 has operations that wait for each other" in complaint([[], circle])


def test_a_rank_that_died():
    programs = [receive_then_send(1, 1), [Operation(CALC, 9000)]]
    programs[1] += [Operation(SEND, 8, 0, after=[0]), Operation(RECV, 8, 0, after=[1])]
    text = complaint(programs, Disturbances(death={1: 5000}))
    assert "rank 0 waits for a message from rank 1 (tag 0), and rank 1 died" in text
