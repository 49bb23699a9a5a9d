"""The loops in C++ and in NumPy give the same bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deep500 as d5
from deep500.codecs import _native, _random, _sums
from deep500.contracts.codec import Codec, Key

pytestmark = pytest.mark.skipif(
    _native.library() is None, reason="there is no C++ compiler"
)
CODECS = [
    d5.codecs.QSGD(2),
    d5.codecs.QSGD(4),
    d5.codecs.QSGD(8, 40),
    d5.codecs.QSGD(4, 64, "l2"),
    d5.codecs.TernGrad(),
    d5.codecs.OneBit(24),
    d5.codecs.TopK(0.1),
    d5.codecs.TopK(0.1, 64),
    d5.codecs.Float16(),
    d5.codecs.BFloat16(),
]
numbers = st.floats(width=32, allow_nan=True, allow_infinity=True)


def both(function) -> list:
    with _native.only_numpy():
        slow = function()
    return [function(), slow]


def check_same(codec: Codec, x: np.ndarray) -> None:
    payload, other = both(lambda: codec.encode(x, Key(3)))
    np.testing.assert_array_equal(payload, other)
    decoded = both(lambda: codec.decode(payload, x.size, x.dtype))
    np.testing.assert_array_equal(*decoded)

    def total() -> np.ndarray:
        buffer = np.ones_like(x)
        codec.accumulate(payload, buffer, -1.0)
        return buffer

    np.testing.assert_array_equal(*both(total))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 513, 5000])
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_loops_give_the_same_bits(codec: Codec, size: int, dtype: str) -> None:
    check_same(codec, np.random.default_rng(size).standard_normal(size).astype(dtype))


@pytest.mark.parametrize("codec", CODECS, ids=str)
@given(values=st.lists(numbers, max_size=70))
@settings(max_examples=30, deadline=None)
def test_loops_give_the_same_bits_for_any_numbers(
    codec: Codec, values: list[float]
) -> None:
    check_same(codec, np.array(values, np.float32))


@pytest.mark.parametrize(
    "codec", [d5.codecs.QSGD(), d5.codecs.TopK(0.001), d5.codecs.OneBit()], ids=str
)
def test_large_buffers_in_several_threads_give_the_same_bits(codec: Codec) -> None:
    check_same(
        codec, np.random.default_rng(0).standard_normal(200_003).astype(np.float32)
    )


def test_random_numbers_and_sums_are_the_same() -> None:
    np.testing.assert_array_equal(*both(lambda: _random.random16((1, 2), 1000)))
    np.testing.assert_array_equal(*both(lambda: _random.words64((3, 4), 45)))
    x = np.random.default_rng(0).standard_normal(10_001)
    first, second = both(lambda: _sums.moments(x))
    assert first == second
    np.testing.assert_allclose(first, [x.sum(), (x * x).sum()], rtol=1e-12)


def test_threefry_is_the_published_one() -> None:
    """The known answers of Random123 for Threefry-2x32-20."""
    for first, second in both(lambda: _random.blocks((0, 0), 1)):
        assert (int(first[0]), int(second[0])) == (0x6B200159, 0x99BA4EFE)


@pytest.mark.parametrize("ratio", [0.0005, 0.01, 0.3])
@pytest.mark.parametrize("values", ["normal", "equal", "few", "sorted"])
def test_top_k_is_exact(values: str, ratio: float) -> None:
    """Also where a sample misleads: equal numbers, few different ones, sorted ones."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(150_000).astype(np.float32)
    if values == "equal":
        x[:] = 0.5
    elif values == "few":
        x = rng.integers(0, 3, x.size).astype(np.float32)
    elif values == "sorted":
        x.sort()
    codec = d5.codecs.TopK(ratio)
    chosen = codec.decode(codec.encode(x, Key()), x.size, x.dtype) != 0
    count = codec.most_values(x.size)
    order = np.lexsort((np.arange(x.size), -np.abs(x)))[:count]
    assert set(np.flatnonzero(chosen)) == set(order[x[order] != 0])
