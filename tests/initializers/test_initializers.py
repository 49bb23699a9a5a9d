"""The laws of initializers: the right moments, the same bits again, independence of names, seeds and order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500.contracts.initializer import Initializer
from deep500.errors import Deep500Error
from deep500.initializers import Constant, GlorotUniform, HeNormal, Normal, Zeros

RANDOM = [HeNormal(), GlorotUniform()]
SHAPES = [(400, 300), (64, 48, 5, 5)]


def variance(initializer: Initializer, shape: tuple[int, ...]) -> float:
    window = int(np.prod(shape[2:]))
    inputs, outputs = shape[1] * window, shape[0] * window
    return 2 / inputs if isinstance(initializer, HeNormal) else 2 / (inputs + outputs)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("initializer", RANDOM, ids=str)
def test_mean_and_variance(initializer: Initializer, shape: tuple[int, ...]) -> None:
    values, expected = (
        initializer.array(shape, 7, "weight").astype("float64"),
        variance(initializer, shape),
    )
    assert values.size > 50_000
    assert abs(values.mean()) < 5 * np.sqrt(expected / values.size)
    assert abs(values.var() / expected - 1) < 5 * np.sqrt(2 / values.size)


@pytest.mark.parametrize("wrong", [(300, 400), (48, 64, 5, 5), (64, 48, 1, 25, 2)])
def test_a_wrong_count_of_inputs_is_seen(wrong: tuple[int, ...]) -> None:
    values = HeNormal().array(wrong, 7, "weight")
    right = SHAPES[0] if len(wrong) == 2 else SHAPES[1]
    assert abs(values.var() / variance(HeNormal(), right) - 1) > 5 * np.sqrt(
        2 / values.size
    )


def test_uniform_values_fill_their_range() -> None:
    values, bound = GlorotUniform().array((400, 300), 0, "w"), np.sqrt(6 / 700)
    assert (
        0.999 * bound < values.max() <= bound
        and -bound <= values.min() < -0.999 * bound
    )


@given(
    seed=st.integers(0, 2**63), name=st.text(max_size=20), other=st.text(max_size=20)
)
def test_a_pure_function_of_seed_and_name(seed: int, name: str, other: str) -> None:
    for initializer in RANDOM:
        values = initializer.array((3, 4), seed, name)
        # drawn in between: the order plays no part
        different = initializer.array((3, 4), seed, other)
        assert np.array_equal(values, initializer.array((3, 4), seed, name))
        assert np.array_equal(values, different) == (name == other)
        assert not np.array_equal(values, initializer.array((3, 4), seed + 1, name))


def test_names_are_independent() -> None:
    a, b = (
        HeNormal().array((200, 500), 0, name).reshape(-1)
        for name in ("fc1.weight", "fc2.weight")
    )
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(a.size)


def test_the_bits_stay_the_same() -> None:
    """Written down: a change of these numbers would change every result that is quoted with a seed."""
    assert (
        HeNormal().array((2, 2), 0, "w").tobytes().hex()
        == "3084a3bd8d7a5c3f8896fc3ee24228bc"
    )
    assert (
        GlorotUniform().array((2, 2), 0, "w").tobytes().hex()
        == "70566f3ff6cc78bf1d774abfb7746c3f"
    )


@pytest.mark.parametrize(
    "initializer", [*RANDOM, Normal(0.1), Zeros(), Constant(0.5)], ids=str
)
def test_dtypes(initializer: Initializer) -> None:
    single, double = (
        initializer.array((4, 5), 1, "w", dtype) for dtype in ("float32", "float64")
    )
    assert (
        single.dtype == "float32"
        and double.dtype == "float64"
        and single.shape == (4, 5)
    )
    assert np.array_equal(single, double.astype("float32"))


def test_normal_values_have_their_deviation_in_any_shape() -> None:
    for shape in [(60_000,), (300, 200), (3, 20, 1000)]:
        values = Normal(0.3).array(shape, 7, "weight").astype("float64")
        assert abs(values.mean()) < 5 * 0.3 / np.sqrt(values.size)
        assert abs(values.std() / 0.3 - 1) < 5 / np.sqrt(2 * values.size)


def test_constants() -> None:
    assert not Zeros().array((3,), 0, "bias").any()
    assert (Constant(1.5).array((2, 3), 0, "scale") == 1.5).all()


@pytest.mark.parametrize("initializer", RANDOM, ids=str)
def test_vectors_have_no_fans(initializer: Initializer) -> None:
    with pytest.raises(Deep500Error, match="'bias' of shape"):
        initializer.array((3,), 0, "bias")
