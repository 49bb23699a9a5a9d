"""Every operation of every collective gives what its definition says, for any number of ranks and any length."""

import numpy as np
import pytest

from deep500.contracts.collective import FUNCTIONS, Collective

from .runs import LENGTHS, SIZES, arrays_of, built_in, carried_out, offered


@pytest.mark.parametrize("collective", built_in(), ids=str)
@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_all_reduce(collective: Collective, op: str) -> None:
    for size in SIZES:
        for count in LENGTHS:
            arrays = arrays_of(size, count)
            wanted = FUNCTIONS[op].reduce(np.array(arrays), axis=0)
            carried_out(collective, "all_reduce", arrays, op=op)
            for array in arrays:
                np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("collective", built_in(), ids=str)
def test_all_ranks_get_the_same_bits(collective: Collective) -> None:
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
