"""The network's own output "loss", else the loss given to from_model, else the task's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deep500.contracts.dataset import Split
from deep500.contracts.network import Network
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.losses import CrossEntropy, MeanAbsoluteError, MeanSquaredError
from deep500.networks import Mlp
from deep500.optimizers import SGD
from deep500.samplers import OrderedSampler
from deep500.tasks import Regression
from deep500.training.trainer import Trainer

X = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
TARGET = np.array([[0.5], [3.0], [-1.0], [2.0]], np.float32)
SPLITS = dict.fromkeys(
    ("train", "validation", "test"), Split({"x": X, "target": TARGET})
)
both = pytest.mark.parametrize("name", ["reference", "pytorch"])


def network(loss: Any = None) -> Network:
    plain = Mlp(()).predictor((3,), 1, seed=2, output_name="prediction")
    return loss.attach(plain) if loss else plain


def first_loss(executor: Any) -> float:
    """What the first step of a trainer, which knows the task, says."""
    run = Trainer(
        executor,
        SGD(0.01),
        splits=SPLITS,
        sampler=OrderedSampler(4),
        epochs=1,
        task=Regression(),
    )
    return run.run().losses[0]


def by_hand(measure: Callable[[np.ndarray], np.ndarray]) -> Any:
    params = network().params
    error = X @ params["prediction.weight"].T + params["prediction.bias"] - TARGET
    return pytest.approx(float(np.mean(measure(error))), rel=1e-5)


class Doubled(MeanSquaredError):
    """Another loss, to be told from the task's."""

    def add(self, network: Network, prediction: str, target: str) -> str:
        difference = network.add_node("Sub", (prediction, target))
        square = network.add_node("Mul", (difference, difference))
        both = network.add_node("Add", (square, square))
        return network.add_node("ReduceMean", (both,), ["loss"], keepdims=0)


@both
def test_the_networks_own_comes_first(name: str) -> None:
    executor = framework(name).from_model(network(Doubled()), loss=MeanAbsoluteError())
    assert first_loss(executor) == by_hand(lambda error: 2 * error**2)


@both
def test_then_the_one_given_to_from_model(name: str) -> None:
    executor = framework(name).from_model(network(), loss=MeanAbsoluteError())
    assert first_loss(executor) == by_hand(np.abs)


@both
def test_then_that_of_the_task(name: str) -> None:
    assert first_loss(framework(name).from_model(network())) == by_hand(np.square)


@both
def test_what_is_learnt_ends_in_the_executor_that_was_given(name: str) -> None:
    model = network()
    executor = framework(name).from_model(model)
    with_loss = framework(name).from_model(network(MeanSquaredError()))
    for one in (executor, with_loss):
        first_loss(one)
    assert all(
        np.array_equal(v, with_loss.arrays()[n]) for n, v in executor.arrays().items()
    )
    assert not np.array_equal(
        executor.arrays()["prediction.weight"], model.params["prediction.weight"]
    )
    assert model.outputs == ["prediction"] == executor.structure.outputs


def test_an_executor_that_nobody_can_give_a_loss_is_refused() -> None:
    with pytest.raises(
        Deep500Error, match="no output 'loss'; its outputs are: prediction"
    ):
        first_loss(framework("reference").executor(network()))


def test_from_model_takes_the_options_of_an_executor_and_no_others() -> None:
    executor = framework("reference").from_model(network(), seed=3)
    assert first_loss(executor) == by_hand(np.square)
    with pytest.raises(TypeError, match="sede"):
        framework("reference").from_model(network(), sede=3)  # type: ignore[call-arg]
    with pytest.raises(
        Unsupported,
        match=r"reference takes a d5.Network or an ONNX model .*, not a int",
    ):
        framework("reference").from_model(3)


def test_classes_and_logits_need_no_task() -> None:
    plain = Mlp(()).predictor((3,), 2, seed=2)
    executor = framework("reference").from_model(plain, loss=CrossEntropy())
    loss = executor.inference({"x": X, "label": np.array([0, 1, 1, 0])})["loss"]
    logits = X @ plain.params["logits.weight"].T
    chosen = logits[np.arange(4), [0, 1, 1, 0]]
    assert loss == pytest.approx(
        np.mean(np.log(np.exp(logits).sum(axis=1)) - chosen), rel=1e-5
    )
