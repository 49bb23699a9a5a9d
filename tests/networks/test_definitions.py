"""The networks that are defined here: their shapes, their starts, and that they learn."""

import numpy as np
import pytest

from deep500.contracts.network import Network
from deep500.datasets.synthetic_images import SyntheticImages
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.networks import DigitsCnn, Mlp
from deep500.optimizers import Adam

DEFINITIONS = [Mlp(), Mlp((20, 15)), Mlp(()), DigitsCnn(), DigitsCnn((2, 3), (8, 5))]
each = pytest.mark.parametrize("definition", DEFINITIONS, ids=str)


def batch(count: int, shape: tuple[int, ...] = (1, 8, 8)) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "x": rng.standard_normal((count, *shape)).astype("float32"),
        "label": rng.integers(0, 10, count),
    }


@each
def test_outputs_and_their_shapes(definition: Mlp | DigitsCnn) -> None:
    network = definition.build((1, 8, 8), 10)
    outputs = framework("reference").executor(network).inference(batch(7))
    assert list(outputs) == ["loss", "logits"]
    assert outputs["logits"].shape == (7, 10) and outputs["loss"].shape == ()
    assert network.get_params() == list(network.params)


@each
def test_gradients_reach_every_parameter(definition: Mlp | DigitsCnn) -> None:
    executor = framework("reference").executor(definition.build((1, 8, 8), 10))
    executor.inference_and_backprop(batch(20))
    assert all(np.any(gradient) for gradient in executor.gradients.values())


def same(a: Network, b: Network) -> bool:
    return all(
        np.array_equal(value, b.params[name]) for name, value in a.params.items()
    )


@each
def test_a_pure_function_of_the_seed(definition: Mlp | DigitsCnn) -> None:
    first, again, other = (definition.build((1, 8, 8), 10, seed) for seed in (3, 3, 4))
    assert same(first, again) and not same(first, other)
    double = definition.build((1, 8, 8), 10, 3, "float64")
    assert {value.dtype.name for value in double.params.values()} == {"float64"}
    assert all(
        np.array_equal(value, double.params[name].astype("float32"))
        for name, value in first.params.items()
    )


def test_equal_shapes_start_differently() -> None:
    params = Mlp((64, 64, 64)).build((64,), 64).params
    weights = [value for name, value in params.items() if name.endswith("weight")]
    assert len({value.tobytes() for value in weights}) == len(weights) == 4


def test_vectors_and_larger_pictures() -> None:
    assert Mlp((5,)).build((3,), 2).params["fc1.weight"].shape == (5, 3)
    network = DigitsCnn().build((3, 33, 30), 10)
    assert framework("reference").executor(network).inference(batch(2, (3, 33, 30)))[
        "logits"
    ].shape == (2, 10)


@pytest.mark.parametrize("shape", [(64,), (8, 8), (1, 3, 8), (1, 1, 8, 8)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        Deep500Error,
        match="DigitsCnn takes inputs of the shape|of DigitsCnn is too small",
    ):
        DigitsCnn().build(shape, 10)


@pytest.mark.parametrize("definition", [Mlp(), DigitsCnn()], ids=str)
def test_they_learn(definition: Mlp | DigitsCnn) -> None:
    train = SyntheticImages(400).load()["train"]
    step = (
        framework("pytorch")
        .executor(definition.build((1, 8, 8), 10))
        .training_step(Adam(0.01))
    )
    losses = [float(step(train.batch(np.arange(64)))["loss"]) for _ in range(40)]
    assert losses[-1] < 0.5 * losses[0]
