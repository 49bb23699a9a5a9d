"""The costs that collectives declare, against virtual ranks and against the lower bound."""

import math

import pytest

from deep500.collectives.binomial_tree import BinomialTree
from deep500.collectives.direct import Direct
from deep500.collectives.flat_server import FlatServer
from deep500.collectives.grid import Grid
from deep500.collectives.hierarchical import Hierarchical
from deep500.collectives.native import Native
from deep500.collectives.neighbor_exchange import NeighborExchange
from deep500.collectives.pipeline import Pipeline
from deep500.collectives.ring import Ring
from deep500.contracts.collective import Collective
from deep500.contracts.collective_cost import lower_bound, reach, rounds_to_all
from deep500.contracts.loggp import LogGP
from deep500.errors import Deep500Error, Incomplete

from .runs import (
    LENGTHS,
    NETWORK,
    SIZES,
    WITH_ARRAYS,
    arrays_of,
    carried_out,
    most_held,
    offered,
)

NANOSECOND = 1e-9


@pytest.mark.parametrize(("collective", "operation"), offered(*WITH_ARRAYS), ids=str)
@pytest.mark.parametrize("count", LENGTHS)
def test_traffic_is_as_declared(
    collective: Collective, operation: str, count: int
) -> None:
    for size in SIZES:
        virtual, _ = carried_out(collective, operation, arrays_of(size, count))
        cost = collective.cost(operation, size, count, gamma=4)
        sent = [traffic.sent_bytes for traffic in virtual.traffic.values()]
        messages = [traffic.sent_messages for traffic in virtual.traffic.values()]
        if collective.cost_is_bound:
            assert max(messages) <= cost.messages, size
            assert max(sent) <= cost.bytes, size
            continue
        if size > 1:
            assert max(messages) == cost.messages, size
        assert max(sent) == cost.bytes, size


@pytest.mark.parametrize(("collective", "operation"), offered(*WITH_ARRAYS), ids=str)
def test_seconds_are_those_of_virtual_ranks(
    collective: Collective, operation: str
) -> None:
    """To the nanosecond for powers of two; else the formula is an upper bound, by less than its rounds."""
    for size in SIZES:
        for count in LENGTHS:
            virtual, _ = carried_out(collective, operation, arrays_of(size, count))
            seconds = collective.cost(operation, size, count).seconds(NETWORK)
            excess = seconds - virtual.seconds
            slack = 0.0
            if not _is_exact(collective, size, count):
                message = NETWORK.L + 2 * NETWORK.o
                slack = rounds_to_all(size) * message + 4 * count * NETWORK.G
            if collective.cost_is_bound:
                slack = math.inf
            assert -NANOSECOND < excess < slack + NANOSECOND, (size, count)


@pytest.mark.parametrize(("collective", "operation"), offered(*WITH_ARRAYS), ids=str)
def test_buffers_are_those_that_are_declared(
    collective: Collective, operation: str
) -> None:
    """On the rank that holds most, in bytes that NumPy has allocated in its program."""
    if isinstance(collective, Native):
        pytest.skip("its buffers are the engine's")
    for size in (2, 3, 4, 7):
        count = 30000
        arrays = arrays_of(size, count)
        held = most_held(collective, operation, arrays)
        cost = collective.cost(operation, size, count)
        # steps and handles, which are Python's
        slack = 0.05 * arrays[0].nbytes + 600 * cost.messages
        assert held - cost.memory < slack, size
        assert held - cost.memory > -slack or collective.cost_is_bound, size


def _is_exact(collective: Collective, size: int, count: int) -> bool:
    is_power = not size & (size - 1)
    if isinstance(collective, Ring | FlatServer):
        return True
    if isinstance(collective, Direct | NeighborExchange) and size > 2:
        return False  # receives may be handled while the last message is on its way
    if isinstance(collective, Pipeline):
        return count * 4 <= collective.segment_bytes or not count % 45
    has_other_groups = isinstance(collective, Hierarchical) and collective.group
    return is_power and not (has_other_groups or isinstance(collective, Grid))


@pytest.mark.parametrize(("collective", "operation"), offered(*WITH_ARRAYS), ids=str)
def test_nothing_beats_the_lower_bound(collective: Collective, operation: str) -> None:
    for size in SIZES:
        for count in (1, 17, 720, 10**6):
            cost = collective.cost(operation, size, count)
            bound = lower_bound(operation, size, 4 * count, NETWORK)
            assert cost.seconds(NETWORK) >= bound["seconds"] * (1 - 1e-12)
            assert cost.bytes >= bound["bytes"] * (1 - 1e-12)


def test_reach_is_that_of_an_optimal_broadcast() -> None:
    """Karp et al. (1993), figure 3: P = 8, L = 6, g = 4, o = 2 takes 24 cycles."""
    assert reach(8, LogGP(L=6.0, o=2.0, g=4.0, G=0.0)) == 24.0


def test_ring_is_optimal_in_bytes() -> None:
    cost = Ring().cost("all_reduce", 8, 8000)
    assert cost.bytes == lower_bound("all_reduce", 8, 32000, NETWORK)["bytes"]


def test_coefficients_add_up_to_the_seconds() -> None:
    cost = BinomialTree().cost("all_reduce", 8, 1000)
    counts = cost.coefficients
    seconds = sum(getattr(NETWORK, name) * counts[name] for name in "LogG")
    assert seconds == pytest.approx(cost.seconds(NETWORK), rel=1e-12)
    per_byte = 1e-9
    more = cost.seconds(NETWORK, per_byte) - cost.seconds(NETWORK)
    assert more == pytest.approx(per_byte * counts["reduced"], rel=1e-9)


def test_bytes_per_element_are_a_factor() -> None:
    """As a codec changes them: half a byte for 4 bits."""
    full = Ring().cost("all_reduce", 4, 8000, gamma=4)
    quantised = Ring().cost("all_reduce", 4, 8000, gamma=0.5)
    assert quantised.bytes == full.bytes / 8
    assert quantised.messages == full.messages


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (("all_reduce", 0, 5, 4), "0 ranks: give a whole number from 1 up"),
        (("all_reduce", 2, -5, 4), "-5 elements: give a whole number from 0 up"),
        (("all_reduce", 2, 5, 0.0), "0.0 bytes per element: give a number above 0"),
        (
            ("allreduce", 2, 5, 4),
            "no operation is named 'allreduce'. Did you mean 'all_reduce'?",
        ),
        (("all_to_all", 2, 5, 4), "Ring has no all_to_all: it offers all_reduce"),
    ],
)
def test_bad_requests(request_: tuple, message: str) -> None:
    with pytest.raises(Deep500Error, match=message.replace("?", r"\?")):
        Ring().cost(*request_)


class Free(Ring):
    """A cost that is not declared."""

    all_reduce_cost = property()


def test_a_cost_that_is_not_declared_is_said_to_be_missing() -> None:
    with pytest.raises(Incomplete, match="all_reduce_cost"):
        Free().cost("all_reduce", 2, 5)
