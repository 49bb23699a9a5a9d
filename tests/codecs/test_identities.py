"""Codecs in their limits are no codecs, and error feedback is what makes biased ones converge."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.codec import Codec, Key, run_together
from deep500.contracts.layout import Layout, Slot
from deep500.contracts.operator import TensorSpec

codecs: Any = d5.codecs
SHAPES = {"w": (12, 20), "b": (12,), "k": (4, 3, 3, 3)}


def layout(dtype: str) -> Layout:
    return Layout.of({name: TensorSpec(shape, dtype) for name, shape in SHAPES.items()})


def gradients(ranks: int, dtype: str, step: int = 0) -> list[np.ndarray]:
    """With zeros between the slots, as in a real buffer."""
    rng = np.random.default_rng(step)
    buffers = []
    for _ in range(ranks):
        arrays = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
        buffers.append(layout(dtype).gather(arrays)[dtype])
    return buffers


def means(
    codec: Codec, buffers: list[np.ndarray], states: list, step: int, slots: Any
) -> list:
    ranks = len(buffers)
    aggregations = []
    for rank, buffer in enumerate(buffers):
        key = Key(0, step, rank, ranks, "all")
        aggregations.append(codec.aggregate(buffer, states[rank], key, slots))
    return run_together(aggregations)


EXACT = [
    (codecs.TopK(1.0), 0.0),
    (codecs.TopK(1.0, bucket=16), 0.0),
    (codecs.RandomK(1.0), 0.0),
    (codecs.Threshold(1e-30), 0.0),
    (codecs.Lossless(), 0.0),
    (codecs.PowerSGD(rank=12, min_rate=0), 20.0),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(("codec", "units"), EXACT, ids=lambda value: str(value))
def test_a_codec_that_keeps_all_is_the_dense_mean(codec, units, ranks, dtype) -> None:
    """Bit-equal where nothing is computed; to so many units in the last place where something is."""
    slots = layout(dtype).slots
    states = [
        codec.init(layout(dtype).sizes[dtype], dtype, slots) for _ in range(ranks)
    ]
    for step in range(3):
        buffers = gradients(ranks, dtype, step)
        dense = sum(buffers[1:], buffers[0].copy()) / np.dtype(dtype).type(ranks)
        for mean in means(codec, buffers, states, step, slots):
            error = np.abs(mean - dense).max()
            assert error <= units * np.finfo(dtype).eps * np.abs(buffers).max()


def test_qsgd_with_more_levels_comes_nearer_to_the_dense_gradient() -> None:
    x = np.random.default_rng(0).standard_normal(4096).astype(np.float32)
    errors = []
    for bits in (2, 4, 8):
        codec = codecs.QSGD(bits=bits, bucket=64)
        decoded = codec.decode(codec.encode(x, Key()), x.size, x.dtype)
        errors.append(np.linalg.norm(decoded - x) / np.linalg.norm(x))
    assert errors[0] > 4 * errors[1] > 16 * errors[2]
    step = np.abs(x.reshape(-1, 64)).max(axis=1) / 127
    assert (np.abs(decoded - x).reshape(-1, 64) <= step[:, None] * (1 + 1e-5)).all()


def test_factors_are_exact_below_their_break_even() -> None:
    """A layer of 256 x 512 and a batch of 8: the bytes of (256 + 512) 8 numbers, and the same gradient."""
    rng = np.random.default_rng(0)
    slots = (Slot("w", (256, 512), "float64", 0),)
    codec = codecs.Factors(batch=8)
    buffers = []
    for _ in range(3):
        errors, inputs = rng.standard_normal((256, 8)), rng.standard_normal((8, 512))
        buffers.append((errors @ inputs).reshape(-1))
    for mean in means(codec, buffers, [{}, {}, {}], 0, slots):
        np.testing.assert_allclose(mean, sum(buffers) / 3, atol=1e-10)
    assert codec.aggregate_bytes(256 * 512, "float64", slots) == (256 + 512) * 8 * 8
    assert codec.break_even(256, 512) == pytest.approx(170.67, abs=0.01)
    dense = codecs.Factors(batch=171)
    assert dense.aggregate_bytes(256 * 512, "float64", slots) == 256 * 512 * 8


def test_a_gradient_of_a_higher_rank_is_refused() -> None:
    slots = (Slot("w", (64, 64), "float64", 0),)
    x = np.random.default_rng(0).standard_normal(64 * 64)
    with pytest.raises(
        d5.Deep500Error, match="gradient of w has a higher rank than the 4 rows"
    ):
        next(codecs.Factors(batch=4).aggregate(x, {}, Key(), slots))


def test_power_sgd_is_exact_for_low_rank_and_improves_by_its_warm_start() -> None:
    rng = np.random.default_rng(0)
    slots = (Slot("w", (40, 50), "float64", 0),)
    low = (rng.standard_normal((40, 2)) @ rng.standard_normal((2, 50))).reshape(-1)
    codec = codecs.PowerSGD(rank=2)
    states = [codec.init(2000, "float64", slots) for _ in range(2)]
    for mean in means(codec, [low, low], states, 0, slots):
        np.testing.assert_allclose(mean, low, atol=1e-12)
    assert codec.aggregate_bytes(2000, "float64", slots) == (40 + 50) * 2 * 8


def test_the_sum_of_all_ranks_stays_in_the_range_of_float16() -> None:
    """8 ranks with 60000 each: the sum is far beyond float16, the mean is not."""
    buffers = [np.full(5, 60000, np.float32) for _ in range(8)]
    mean = means(codecs.Float16(), buffers, [{} for _ in buffers], 0, ())[0]
    np.testing.assert_allclose(mean, np.full(5, 60000), rtol=2e-3)


def test_integers_that_would_overflow_are_refused() -> None:
    from deep500.contracts.codec import legal

    summed = codecs.TernGrad(summed=True)
    legal(summed, "allreduce", ranks=127)
    with pytest.raises(
        d5.Deep500Error, match="128 ranks: its integers overflow beyond 127"
    ):
        legal(summed, "allreduce", ranks=128)
    buffers = [np.ones(3, np.float32)] * 127
    mean = means(summed, buffers, [{} for _ in buffers], 0, ())[0]
    np.testing.assert_allclose(mean, np.ones(3), rtol=1e-6)


def descent(codec: Codec, steps: int = 3000) -> float:
    """The best value that SGD with this codec reaches on the counter-example of Karimireddy et al. (2019).

    f(x, y) = e |x + y| + |x - y| with e = 0.1, from (1, 1): the sign of every subgradient is (1, -1) or (-1, 1), so
    that sign-SGD never changes x + y.
    """
    point = np.array([1.0, 1.0])
    state = codec.init(2, "float64")
    best = np.inf
    for step in range(steps):
        across = 1.0 if point[0] >= point[1] else -1.0
        along = 0.1 * np.sign(point.sum())
        gradient = np.array([along + across, along - across])
        rate = 0.3 / np.sqrt(step + 1)
        [update] = run_together([codec.aggregate(rate * gradient, state, Key(0, step))])
        point -= update
        best = min(best, 0.1 * abs(point.sum()) + abs(point[0] - point[1]))
    return best


def test_sign_sgd_needs_error_feedback() -> None:
    """0.2 is the value of f on the line x + y = 2, at its best point; the optimum is 0."""
    assert descent(codecs.Sign(8, feedback=False)) > 0.199
    assert descent(codecs.Sign(8, feedback=True)) < 0.02
    assert descent(codecs.Identity()) < 0.02
