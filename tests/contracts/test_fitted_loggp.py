"""The network that was fitted to a machine, as a value that simulations take."""

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.fitted_loggp import FittedLogGP, machine_name
from deep500.errors import Deep500Error

NETWORK = FittedLogGP(
    L=1e-5,
    o=1e-6,
    g=1e-6,
    G=1e-9,
    knots=(0, 1000),
    gaps=(2e-9, 1e-9),
    element=4e-9,
    byte=1e-9,
    cpus=2,
    crowded_L=1e-5,
)


def exchange(rank: int, size: int):
    array = np.zeros(500, np.float32)
    ring = d5.collectives.Ring()
    yield from ring.all_reduce(rank, size, array)


def test_long_messages_have_the_gap_of_their_size() -> None:
    assert NETWORK.stream(500) == pytest.approx(1e-6)
    assert NETWORK.stream(3000) == pytest.approx(1000 * 2e-9 + 2000 * 1e-9)


def test_the_least_gap_is_that_of_the_best_length() -> None:
    assert NETWORK.least_gap(500) == pytest.approx(2e-9)
    assert NETWORK.least_gap(4000) == pytest.approx(NETWORK.stream(4000) / 4000)
    dearer = FittedLogGP(g=1e-7, knots=(0, 1000), gaps=(1e-9, 5e-9))
    # four messages of 1000 bytes, with three gaps between them
    assert dearer.least_gap(4000) == pytest.approx((4e-6 + 3e-7) / 4000)


def test_ranks_that_share_processors_wait_longer() -> None:
    assert NETWORK.among(2) is NETWORK
    crowded = NETWORK.among(4)
    assert crowded.L == pytest.approx(2e-5) and crowded.gaps == NETWORK.gaps
    assert crowded.among(4) == crowded


def test_elements_and_their_bytes_are_apart() -> None:
    """A codec halves the bytes of an element; the elements that are combined stay as many."""
    cost = d5.collectives.Ring().cost("all_reduce", 2, 1000, gamma=4)
    half = d5.collectives.Ring().cost("all_reduce", 2, 1000, gamma=2)
    network = FittedLogGP(0, 0, 0, 0, gaps=(0.0,), element=4e-9, byte=1e-9, cpus=2)
    assert network.seconds_of(cost, 2, 4.0) == pytest.approx(500 * 8e-9)
    assert network.seconds_of(half, 2, 2.0) == pytest.approx(500 * 6e-9)


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_simulation_takes_it(ranks: int) -> None:
    seconds = d5.simulate(None, exchange, ranks, NETWORK).seconds
    cost = d5.collectives.Ring().cost("all_reduce", ranks, 500)
    assert seconds == pytest.approx(cost.seconds(NETWORK.among(ranks)), rel=1e-9)


def test_another_machines_network_warns() -> None:
    here = FittedLogGP(machine=machine_name())
    d5.simulate(None, exchange, 2, here)
    with pytest.warns(UserWarning, match="fitted to another machine \\(a Cray"):
        d5.simulate(None, exchange, 2, FittedLogGP(machine="a Cray"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"byte": -1.0}, "byte of LogGP is -1.0"),
        ({"knots": [1.0], "gaps": [1e-9]}, "give bytes from 0 up"),
        ({"knots": [0, 8], "gaps": [1e-9]}, "and a gap for each"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        FittedLogGP(**settings)
