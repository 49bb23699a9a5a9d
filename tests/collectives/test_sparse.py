"""Sparse streams: what they hold, sums in C++ and in NumPy, the four algorithms, and the choice between them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deep500.codecs.qsgd import QSGD
from deep500.codecs.top_k import TopK
from deep500.collectives._merging import LOOPS, merged, merged_in_order
from deep500.collectives.dsar_split_all_gather import DSARSplitAllGather
from deep500.collectives.ok_topk import OkTopk
from deep500.collectives.spar_cml import SparCML
from deep500.collectives.ssar_recursive_doubling import SSARRecursiveDoubling
from deep500.collectives.ssar_split_all_gather import SSARSplitAllGather
from deep500.contracts.collective import Collective
from deep500.contracts.loggp import LogGP
from deep500.contracts.sparse_stream import (
    INDEX,
    SparseStream,
    joined,
    most_sparse,
    sparse_stream,
    stream_of,
)
from deep500.errors import Deep500Error
from deep500.transports.virtual import Virtual

EXACT = (SSARRecursiveDoubling, SSARSplitAllGather, DSARSplitAllGather, SparCML)
SIZE = 1000


def sparse_array(seed: int, entries: int, dtype: str = "float32") -> np.ndarray:
    random = np.random.default_rng(seed)
    array = np.zeros(SIZE, dtype)
    places = random.choice(SIZE, entries, replace=False)
    array[places] = random.standard_normal(entries)
    return array


def summed(collective: Collective, arrays: list[np.ndarray]) -> list[SparseStream]:
    return [*_run(collective, arrays)[1].values()]


def sent_by(collective: Collective, arrays: list[np.ndarray]) -> Virtual:
    """The transport that has summed the arrays up."""
    return _run(collective, arrays)[0]


def _run(
    collective: Collective, arrays: list[np.ndarray]
) -> tuple[Virtual, dict[int, SparseStream]]:
    virtual = Virtual(len(arrays))

    def program(rank: int) -> Any:
        stream = stream_of(arrays[rank])
        return collective.sparse_all_reduce(rank, len(arrays), stream)

    return virtual, virtual.run(program)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("entries", [0, 1, 300, 700])
def test_a_stream_is_the_array(dtype: str, entries: int) -> None:
    array = sparse_array(0, entries, "float32").astype(dtype)
    stream = stream_of(array)
    np.testing.assert_array_equal(stream.dense(), array)
    assert stream.nbytes == stream.payload().nbytes
    assert stream.nbytes <= array.nbytes
    nonzero = np.count_nonzero(array)
    assert stream.is_dense == (nonzero > most_sparse(SIZE, dtype))
    parts = [stream.part(0, 333), stream.part(333, 700), stream.part(700, SIZE)]
    np.testing.assert_array_equal(joined(parts).dense(), array)


def test_delta_is_that_of_the_paper() -> None:
    """Half of the elements for float32 with indices of 4 bytes, and two thirds for float64."""
    assert most_sparse(1200, "float32") == 600
    assert most_sparse(1200, "float64") == 800


@pytest.mark.skipif(LOOPS.library() is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("entries", [(0, 0), (0, 9), (40, 400), (450, 450), (700, 3)])
def test_loops_give_the_bits_of_numpy(dtype: str, entries: tuple[int, int]) -> None:
    streams = []
    for seed, count in enumerate(entries):
        streams.append(stream_of(sparse_array(seed, count, dtype)))
    fast = merged(streams[0], streams[1])
    with LOOPS.only_numpy():
        slow = merged(streams[0], streams[1])
    assert fast.is_dense == slow.is_dense
    assert fast.payload().tobytes() == slow.payload().tobytes()
    wanted = sum(stream.dense().astype(np.float64) for stream in streams)
    np.testing.assert_allclose(fast.dense(), wanted, atol=1e-6)


def test_the_order_of_additions_is_that_of_the_ranks() -> None:
    """Pairs of neighbours: ((a + b) + (c + d)) + e, in which the large numbers cancel."""
    values = [1e8, 1.0, -1e8, 1.0, 1.0]
    streams = [sparse_stream([3], np.array([x], np.float32), 8) for x in values]
    total = merged_in_order(streams)
    one, large = np.float32(1), np.float32(1e8)
    wanted = ((large + one) + (-large + one)) + one
    assert total.values[0] == wanted


@pytest.mark.parametrize("only_numpy", [False, True])
def test_negative_zero_is_zero(only_numpy: bool) -> None:
    """In the interleaved part of a merge, and behind it."""
    ones = sparse_stream([*range(0, 40, 2)], np.full(20, -0.0, np.float32), 99)
    others = sparse_stream([1, 3], np.full(2, -0.0, np.float32), 99)
    with LOOPS.only_numpy(only_numpy):
        total = merged(ones, others)
    assert total.entries == 22 and not np.signbit(total.values).any()


def test_what_cancels_is_still_an_entry() -> None:
    plus, minus = (
        sparse_stream([5], np.array([x], np.float32), 9) for x in (1.0, -1.0)
    )
    total = merged(plus, minus)
    assert (total.entries, total.values[0]) == (1, 0.0)


@pytest.mark.parametrize("cls", EXACT, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("entries", [0, 1, 20, 400, 900])
def test_sums_are_right_and_the_same_on_all_ranks(
    cls: type[Collective], entries: int
) -> None:
    for size in (1, 2, 3, 5, 8):
        arrays = [sparse_array(rank, entries) for rank in range(size)]
        found = [stream.dense() for stream in summed(cls(), arrays)]
        np.testing.assert_allclose(found[0], np.sum(arrays, axis=0), atol=1e-5)
        assert len({array.tobytes() for array in found}) == 1


def test_a_quantised_dense_half_is_unbiased_noise() -> None:
    """The mean over many sums is the sum; one sum is not."""
    collective = DSARSplitAllGather(codec=QSGD(bits=4, bucket=128))
    arrays = [sparse_array(rank, 600) for rank in range(4)]
    wanted = np.sum(arrays, axis=0)
    sums = []
    for turn in range(60):
        # another sum draws other numbers; this shifts all by less than a level
        shifted = [array + np.float32(1e-4 * turn) for array in arrays]
        total = summed(collective, shifted)[0].dense()
        sums.append(total - np.float32(4e-4 * turn))
    errors = np.array(sums) - wanted
    assert np.abs(errors[0]).max() > 0.05
    # independent noise of 60 sums averages out to an eighth
    assert np.square(errors.mean(axis=0)).mean() < 1.3 / 60 * np.square(errors).mean()


def test_ok_topk_gives_the_largest_of_the_sum() -> None:
    """About as many as every rank sends, with the values of the whole sum."""
    for size in (2, 3, 5, 8):
        arrays = [sparse_array(rank, 100) for rank in range(size)]
        wanted = np.sum(arrays, axis=0)
        streams = summed(OkTopk(), arrays)
        assert len({stream.payload().tobytes() for stream in streams}) == 1
        stream = streams[0]
        assert stream.indices is not None
        assert 80 <= stream.entries <= 125
        np.testing.assert_allclose(stream.values, wanted[stream.indices], atol=1e-5)
        magnitudes = np.sort(np.abs(wanted))
        assert np.abs(stream.values).min() >= magnitudes[-130]


def test_ok_topk_sends_few_words_on_many_ranks() -> None:
    """What SSAR sends grows with P; Ok-Topk's words stay below 6 k and its samples."""
    size, entries = 16, 60
    arrays = [sparse_array(rank, entries) for rank in range(size)]
    sent = {}
    for collective in (OkTopk(), SSARRecursiveDoubling()):
        virtual = sent_by(collective, arrays)
        sent[collective] = max(t.sent_bytes for t in virtual.traffic.values())
    cost = OkTopk().expected_cost(size, SIZE, entries)
    assert sent[OkTopk()] <= 1.5 * cost.bytes
    samples = cost.bytes - OkTopk().expected_cost(size, SIZE, 0).bytes
    assert samples <= 6 * entries * 8


@pytest.mark.parametrize("cls", EXACT[:3], ids=lambda cls: cls.__name__)
def test_bytes_are_as_predicted_from_the_density(cls: Any) -> None:
    """For independent places: K(m) = N (1 - (1 - d)^m)."""
    count = 20000
    for size in (2, 4, 8):
        for entries in (20, 400, 4000):
            arrays = []
            for rank in range(size):
                random = np.random.default_rng(rank)
                array = np.zeros(count, np.float32)
                array[random.choice(count, entries, replace=False)] = 1
                arrays.append(array)
            virtual = sent_by(cls(), arrays)
            sent = max(t.sent_bytes for t in virtual.traffic.values())
            cost = cls().expected_cost(size, count, entries)
            slack = 0.1 * cost.bytes + 8 * 5 * np.sqrt(entries * size)
            assert abs(sent - cost.bytes) < slack, (size, entries)
            messages = max(t.sent_messages for t in virtual.traffic.values())
            assert messages == cost.messages


@pytest.mark.parametrize(
    ("size", "density", "doubling", "split", "dense", "quantised"),
    [
        (8, 0.001, 0.056, 0.063, 3.51, 0.44),
        (8, 0.0312, 1.696, 1.789, 3.72, 0.66),
        (64, 0.01, 4.561, 3.815, 4.02, 0.57),
        (256, 0.01, 12.356, None, 4.06, 0.58),
        (256, 0.0312, 18.677, None, 4.23, 0.75),
    ],
)
def test_megabytes_are_those_of_a_table_made_without_this_code(
    size: int,
    density: float,
    doubling: float,
    split: float | None,
    dense: float,
    quantised: float,
) -> None:
    """For 10^6 float32; on 256 ranks ours sends dense parts, where the table has sparse ones."""
    wanted = {
        SSARRecursiveDoubling(): doubling,
        SSARSplitAllGather(): split,
        DSARSplitAllGather(): dense,
        DSARSplitAllGather(codec=QSGD(bits=4, bucket=1024)): quantised,
    }
    for collective, megabytes in wanted.items():
        cost = collective.expected_cost(size, 10**6, round(density * 10**6))
        if megabytes is not None:
            assert cost.bytes / 1e6 == pytest.approx(megabytes, rel=0.02)


def test_ranks_with_the_same_places_fill_nothing_in() -> None:
    arrays = [sparse_array(0, 50)] * 8
    sent = max(
        traffic.sent_bytes
        for traffic in sent_by(SSARRecursiveDoubling(), arrays).traffic.values()
    )
    cost = SSARRecursiveDoubling().expected_cost(8, SIZE, 50, union=50)
    assert sent == cost.bytes == 3 * (8 + 50 * 8)


FAST = LogGP(L=1e-6, o=1e-6, g=1e-6, G=1e-10)
SLOW = LogGP(L=1e-4, o=1e-5, g=1e-5, G=8e-8)


@pytest.mark.parametrize(
    ("size", "entries", "union", "wanted"),
    [
        (8, 10, None, {"SSARRecursiveDoubling"}),
        (8, 20_000, None, {"SSARRecursiveDoubling", "SSARSplitAllGather"}),
        (64, 100_000, None, {"DSARSplitAllGather", "Rabenseifner"}),
        (4, 900_000, None, {"Rabenseifner"}),
        # all ranks have the same places: the sum stays sparse
        (64, 100_000, 100_000, {"SSARRecursiveDoubling", "SSARSplitAllGather"}),
    ],
)
def test_the_choice_follows_size_density_and_fill_in(
    size: int, entries: int, union: int | None, wanted: set[str]
) -> None:
    choice = SparCML(network=SLOW).choose(size, 1_000_000, entries, union)
    assert choice.chosen in wanted, choice
    assert choice.seconds[choice.chosen] == min(choice.seconds.values())


def test_the_choice_says_what_it_predicted_and_what_came() -> None:
    arrays = [sparse_array(rank, 50) for rank in range(4)]

    def program(rank: int) -> Any:
        return SparCML(network=FAST).switched(rank, 4, stream_of(arrays[rank]))

    results = Virtual(4).run(program)
    union = np.count_nonzero(np.sum(np.abs(arrays), axis=0))
    for total, choice in results.values():
        assert choice.came == union == np.count_nonzero(total.dense())
        assert choice.union == pytest.approx(1000 * (1 - 0.95**4))
        assert replace(choice, came=0) == SparCML(network=FAST).choose(4, SIZE, 50)


@pytest.mark.parametrize(
    ("indices", "values", "size", "message"),
    [
        ([1, 2], [1.0, np.nan], 5, "element 2 of a sparse stream is NaN"),
        (
            [1, 7],
            [1.0, 2.0],
            5,
            "an index that is none: give whole numbers from 0 to 4",
        ),
        ([-1], [1.0], 5, "an index that is none"),
        ([0.5], [1.0], 5, "an index that is none"),
        ([2, 1], [1.0, 2.0], 5, "do not ascend"),
        ([1, 1], [1.0, 2.0], 5, "do not ascend"),
        ([1], [1.0, 2.0], 5, "give as many of both"),
        ([], [], -1, "a sparse stream of -1 elements"),
        ([], [], 1 << 33, "give a whole number from 0 to 2"),
    ],
)
def test_bad_streams_are_refused_in_one_line(
    indices: list, values: list, size: int, message: str
) -> None:
    with pytest.raises(Deep500Error, match=message) as error:
        sparse_stream(indices, values, size)
    assert "\n" not in str(error.value)


def test_nan_on_the_way_is_refused() -> None:
    arrays = [sparse_array(rank, 5) for rank in range(2)]
    arrays[1][17] = np.nan
    with pytest.raises(Deep500Error, match="element 17 of a sparse stream is NaN"):
        summed(SSARRecursiveDoubling(), arrays)


def test_a_biased_codec_is_refused() -> None:
    arrays = [sparse_array(rank, 5) for rank in range(2)]
    with pytest.raises(Deep500Error, match="it is not unbiased; give QSGD"):
        summed(DSARSplitAllGather(codec=TopK(0.1)), arrays)


def test_announced_lengths_that_cannot_be_are_refused() -> None:
    """A header from another process is not believed."""

    class Lies(SSARRecursiveDoubling):
        pass

    stream = SparseStream(8, np.ones(2, np.float32), np.array([1, 2], INDEX))

    def program(rank: int) -> Any:
        if rank:
            return Lies().sparse_all_reduce(rank, 2, stream)
        large = SparseStream(99, np.ones(50, np.float32), np.arange(50, dtype=INDEX))
        return Lies().sparse_all_reduce(rank, 2, large)

    with pytest.raises(Deep500Error, match="announced a stream with 50 entries of 8"):
        Virtual(2).run(program)


@pytest.mark.parametrize(
    ("entries", "message"), [(-1, "-1 entries of 10"), (11, "11 entries of 10")]
)
def test_costs_of_impossible_streams(entries: int, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        SSARRecursiveDoubling().expected_cost(4, 10, entries)
