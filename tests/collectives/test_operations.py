"""Every operation of every collective gives what its definition says, for any number of ranks and any length."""

import numpy as np
import pytest

from deep500.collectives._groups import among
from deep500.collectives.neighbor_exchange import NeighborExchange
from deep500.collectives.pipeline import Pipeline
from deep500.contracts.collective import FUNCTIONS, Collective
from deep500.contracts.transport import Program, all_reduce
from deep500.definition_text import definition_of
from deep500.errors import Deep500Error
from deep500.schemes.all_reduce import AllReduce
from deep500.transports.virtual import Virtual

from .runs import LENGTHS, SIZES, WITH_ARRAYS, arrays_of, carried_out, offered


@pytest.mark.parametrize(("collective", "_"), offered("all_reduce"), ids=str)
@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_all_reduce(collective: Collective, _: str, op: str) -> None:
    for size in SIZES:
        for count in LENGTHS:
            arrays = arrays_of(size, count)
            wanted = FUNCTIONS[op].reduce(np.array(arrays), axis=0)
            carried_out(collective, "all_reduce", arrays, op=op)
            for array in arrays:
                np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize(("collective", "_"), offered("all_reduce"), ids=str)
def test_all_ranks_get_the_same_bits(collective: Collective, _: str) -> None:
    for size in SIZES:
        random = np.random.default_rng(size)
        arrays = list(random.standard_normal((size, 101)).astype(np.float32))
        exact = np.sum(arrays, axis=0, dtype=np.float64)
        carried_out(collective, "all_reduce", arrays)
        assert len({array.tobytes() for array in arrays}) == 1
        np.testing.assert_allclose(arrays[0], exact, atol=1e-5)


@pytest.mark.parametrize(("collective", "_"), offered("reduce_scatter"), ids=str)
def test_reduce_scatter(collective: Collective, _: str) -> None:
    for size in SIZES:
        for count in LENGTHS:
            arrays = arrays_of(size, count)
            wanted = np.array_split(np.sum(arrays, axis=0), size)
            pieces = carried_out(collective, "reduce_scatter", arrays)[1]
            for rank, piece in pieces.items():
                np.testing.assert_array_equal(piece, wanted[rank])
                assert (
                    not count or np.shares_memory(piece, arrays[rank]) or not len(piece)
                )


@pytest.mark.parametrize(("collective", "_"), offered("all_gather"), ids=str)
def test_all_gather(collective: Collective, _: str) -> None:
    for size in SIZES:
        for count in LENGTHS:
            wanted = np.arange(count)
            arrays = [np.full(count, -1) for _ in range(size)]
            for rank, array in enumerate(arrays):
                piece = np.array_split(array, size)[rank]
                piece[:] = np.array_split(wanted, size)[rank]
            carried_out(collective, "all_gather", arrays)
            for array in arrays:
                np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize(("collective", "_"), offered("broadcast"), ids=str)
def test_broadcast(collective: Collective, _: str) -> None:
    for size in SIZES:
        for root in {0, size // 2, size - 1}:
            arrays = arrays_of(size, 17)
            wanted = arrays[root].copy()
            carried_out(collective, "broadcast", arrays, root=root)
            for array in arrays:
                np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize(("collective", "_"), offered("all_to_all"), ids=str)
def test_all_to_all(collective: Collective, _: str) -> None:
    """Also with pieces of different lengths, and none."""
    for size in SIZES:
        incoming: dict[int, list[np.ndarray]] = {}

        def program(rank: int, size: int = size, incoming: dict = incoming) -> Program:
            outgoing = [np.full(rank + other, 100 * rank) for other in range(size)]
            incoming[rank] = [np.full(rank + other, -1) for other in range(size)]
            yield from collective.all_to_all(rank, size, outgoing, incoming[rank])

        Virtual(size).run(program)
        for rank, arrays in incoming.items():
            for other, array in enumerate(arrays):
                np.testing.assert_array_equal(array, np.full(rank + other, 100 * other))


@pytest.mark.parametrize(("collective", "_"), offered("neighbor_all_gather"), ids=str)
def test_neighbor_all_gather(collective: Collective, _: str) -> None:
    for size in SIZES:
        arrays = arrays_of(size, 17)
        gathered = carried_out(collective, "neighbor_all_gather", arrays)[1]
        for rank, found in gathered.items():
            neighbors = collective.settings["topology"].neighbors(rank, size)
            assert [*found] == sorted(neighbors)
            for other, array in found.items():
                np.testing.assert_array_equal(array, arrays[other])


@pytest.mark.parametrize(("collective", "operation"), offered(*WITH_ARRAYS), ids=str)
def test_sends_may_wait_for_their_receivers(
    collective: Collective, operation: str
) -> None:
    for size in SIZES:
        carried_out(collective, operation, arrays_of(size, 40), eager_bytes=0)


@pytest.mark.parametrize(
    ("text", "size", "message"),
    [
        ("Grid(rows=3)", 4, "a grid with 3 rows cannot hold 4 ranks"),
        ("Hierarchical(group=0)", 4, "group of Hierarchical is 0"),
        ("Hierarchical(across=Native())", 4, "the engine's own collectives are for"),
        ("Hierarchical(across=NeighborExchange())", 4, "has no all_reduce"),
    ],
)
def test_numbers_of_ranks_that_cannot_be(text: str, size: int, message: str) -> None:
    collective = definition_of(text, "collectives")
    with pytest.raises(Deep500Error, match=message) as error:
        carried_out(collective, "all_reduce", arrays_of(size, 4))
    assert "\n" not in str(error.value)
    with pytest.raises(Deep500Error, match=message):
        AllReduce(collective=collective).check(size)


def test_what_cannot_reduce_is_refused() -> None:
    with pytest.raises(Deep500Error, match="has no all_reduce, which AllReduce needs"):
        AllReduce(collective=NeighborExchange()).check(2)


def test_a_collective_of_the_engine_is_for_all_ranks() -> None:
    def program(rank: int) -> Program:
        if rank < 2:
            yield from among([0, 1], all_reduce(np.zeros(3)))

    with pytest.raises(Deep500Error, match="AllReduce is for all ranks, and not for a"):
        Virtual(3).run(program)


def test_a_pipeline_without_segments_is_refused() -> None:
    with pytest.raises(Deep500Error, match="segment_bytes of Pipeline is 0"):
        Pipeline(segment_bytes=0)
