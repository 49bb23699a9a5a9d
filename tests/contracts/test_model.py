"""Promises of every model, shown by those that take pictures as small as digits."""

import numpy as np
import pytest

from deep500 import registry
from deep500.contracts.model import Model
from deep500.contracts.network import Network
from deep500.datasets.digits import Digits
from deep500.frameworks import framework
from deep500.networks import DigitsCnn, Mlp, ResNet, WideResNet
from deep500.tasks import Classification, Reconstruction

ALL = [registry.find("networks", name) for name in registry.known("networks")]
MODELS: list[Model] = [Mlp(), DigitsCnn(), ResNet(8), WideResNet(10, 1)]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)
TRAIN = Digits().load()["train"]


def same(one: Network, other: Network) -> bool:
    return (
        one.nodes == other.nodes
        and one.inputs == other.inputs
        and one.outputs == other.outputs
        and one.trainable == other.trainable
        and all(
            np.array_equal(value, other.params[name])
            for name, value in one.params.items()
        )
    )


def test_every_network_can_be_the_model_of_a_recipe() -> None:
    assert all(issubclass(kind, Model) for kind in ALL)


@every_model
def test_it_is_built_for_the_task_and_gives_its_prediction(model: Model) -> None:
    for task in (Classification(), Reconstruction()):
        network = task.attach_loss(model.for_task(task, TRAIN, seed=3))
        batch = TRAIN.batch(slice(0, 4))
        outputs = framework("reference").executor(network).inference(batch)
        assert {"loss", task.prediction} <= {*outputs}
        assert outputs[task.prediction].shape == (4, task.sizes(TRAIN)[1])


@every_model
def test_it_is_a_pure_function_of_the_seed(model: Model) -> None:
    first, again, other = (
        model.for_task(Classification(), TRAIN, seed) for seed in (3, 3, 4)
    )
    assert same(first, again) and not same(first, other)


@every_model
def test_the_task_attaches_what_a_classifier_has_by_itself(model: Model) -> None:
    attached = Classification().attach_loss(
        model.for_task(Classification(), TRAIN, seed=3)
    )
    assert same(attached, model.build((1, 8, 8), 10, seed=3))
