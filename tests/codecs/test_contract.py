"""What every codec relies on: aggregation without a transport, keys, refusals, error feedback."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.codec import (
    AverageRequest,
    Codec,
    GatherRequest,
    Key,
    legal,
    run_together,
    slots_of,
)
from deep500.contracts.layout import Layout
from deep500.contracts.operator import TensorSpec


def gradients(
    ranks: int, size: int, dtype: str = "float32", seed: int = 0
) -> list[np.ndarray]:
    return list(
        np.random.default_rng(seed).standard_normal((ranks, size)).astype(dtype)
    )


def averaged(
    codec: Codec, buffers: list[np.ndarray], states=None, step: int = 0
) -> list:
    """Every rank's result of one aggregation in this process."""
    ranks = len(buffers)
    states = states or [codec.init(b.size, b.dtype) for b in buffers]
    keys = [Key(7, step, rank, ranks, "w") for rank in range(ranks)]
    return run_together(
        [codec.aggregate(*parts) for parts in zip(buffers, states, keys, strict=True)]
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "codec", [d5.codecs.Identity(), d5.codecs.TopK(1.0), d5.codecs.TopK(1.0, 8)]
)
def test_without_loss_the_mean_is_the_serial_one(codec: Codec, dtype: str) -> None:
    buffers = gradients(3, 37, dtype)
    serial = ((buffers[0] + buffers[1]) + buffers[2]) / np.dtype(dtype).type(3)
    for mean in averaged(codec, buffers):
        np.testing.assert_array_equal(mean, serial)


def test_sent_and_residual_are_the_sum_of_all_gradients() -> None:
    codec = d5.codecs.TopK(0.1)
    states = [codec.init(50, "float64") for _ in range(2)]
    total, sent = np.zeros(50), np.zeros(50)
    for step in range(20):
        buffers = gradients(2, 50, "float64", seed=step)
        total += sum(buffers)
        sent += 2 * averaged(codec, buffers, states, step)[0]
    np.testing.assert_allclose(
        sent + sum(s["residual"] for s in states), total, rtol=1e-12
    )


def test_an_aggregation_that_fails_leaves_the_state_as_it_was() -> None:
    codec = d5.codecs.TopK(0.5)
    state = codec.init(8, "float32")
    before = {name: array.copy() for name, array in state.items()}
    aggregation = codec.aggregate(gradients(1, 8)[0], state, Key())
    assert isinstance(next(aggregation), GatherRequest)
    aggregation.close()
    assert all(np.array_equal(state[name], before[name]) for name in before)


def test_one_overflow_does_not_stay_in_the_residual() -> None:
    codec = d5.codecs.TopK(0.25)
    state = codec.init(8, "float32")
    bad = np.array([1, np.nan, np.inf, np.inf, 2, 3, 4, 5], np.float32)
    [mean] = averaged(codec, [bad], [state])
    assert not np.isfinite(mean).all()
    assert np.isfinite(state["residual"]).all()


def test_ranks_that_ask_for_different_collectives_are_refused() -> None:
    def asks(request: Any) -> Any:
        yield request

    payload = np.zeros(1, np.uint8)
    with pytest.raises(d5.Deep500Error, match="different collectives"):
        run_together([asks(GatherRequest(payload)), asks(AverageRequest(np.zeros(1)))])
    finished = asks(GatherRequest(payload))
    next(finished)
    with pytest.raises(d5.Deep500Error, match="same number of collectives"):
        run_together([finished, asks(GatherRequest(payload))])


@pytest.mark.parametrize("collective", ["allreduce", "reduce_scatter"])
def test_a_codec_that_is_not_linear_is_refused_where_sums_are_made(
    collective: str,
) -> None:
    with pytest.raises(d5.Deep500Error, match="not linear.*use allgather"):
        legal(d5.codecs.TopK(0.1), collective)
    legal(d5.codecs.Identity(), collective)
    legal(d5.codecs.TopK(0.1), "allgather")
    with pytest.raises(d5.Deep500Error, match="Did you mean 'allreduce'"):
        legal(d5.codecs.TopK(0.1), "allreduse")


def test_keys_differ_by_each_of_their_parts() -> None:
    keys = [Key(), Key(1), Key(step=1), Key(rank=1), Key(tensor="w")]
    assert len({key.words() for key in keys}) == len(keys)
    assert Key(rank=1).shared_words() == Key(rank=2).shared_words()
    assert Key(step=1).shared_words() != Key(step=2).shared_words()


def test_slots_of_a_bucket_begin_at_the_bucket() -> None:
    layout = Layout.of(
        {"a": TensorSpec((3, 5), "float32"), "b": TensorSpec((4,), "float32")}
    )
    [last, first] = layout.buckets(most_bytes=1)
    assert [(s.name, s.offset) for s in slots_of(layout, last)] == [("b", 0)]
    assert [(s.name, s.offset) for s in slots_of(layout, first)] == [("a", 0)]
    [both] = layout.buckets()
    assert [(s.name, s.offset) for s in slots_of(layout, both)] == [("a", 0), ("b", 16)]


@pytest.mark.parametrize(
    "buffer", [np.zeros((2, 2), np.float32), np.zeros(4, np.int64)]
)
def test_what_is_not_a_flat_float_buffer_is_refused(buffer: np.ndarray) -> None:
    with pytest.raises(d5.Deep500Error, match="flat buffer of float32 or float64"):
        next(d5.codecs.Identity().aggregate(buffer, {}, Key()))


def test_a_payload_of_a_wrong_length_is_refused() -> None:
    with pytest.raises(
        d5.Deep500Error, match="needs 40 bytes for 10 elements.*39 were received"
    ):
        d5.codecs.Identity().decode(np.zeros(39, np.uint8), 10, "float32")


class Shorter(d5.codecs.Identity):
    """Its payload lacks the last byte of what `wire_bytes` promises to receivers."""

    def encode(self, x: np.ndarray, key: Key) -> np.ndarray:
        return super().encode(x, key)[:-1]


def test_a_payload_that_receivers_have_no_room_for_is_not_sent() -> None:
    text = r"Shorter.encode \(test_contract.py, line \d+\) returned 39 bytes for 10 .* wire_bytes says 40"
    with pytest.raises(d5.Deep500Error, match=text):
        Shorter().message(np.zeros(10, np.float32), Key())


def test_a_chain_needs_a_codec_that_selects() -> None:
    with pytest.raises(d5.Deep500Error, match="selects no values"):
        _ = d5.codecs.Identity() | d5.codecs.TopK(0.1)
    chain = d5.codecs.TopK(0.5) | d5.codecs.Identity()
    x = gradients(1, 9)[0]
    same = d5.codecs.TopK(0.5)
    np.testing.assert_array_equal(
        chain.decode(chain.encode(x, Key()), 9, "float32"),
        same.decode(same.encode(x, Key()), 9, "float32"),
    )
