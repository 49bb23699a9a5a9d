"""Every transformation that needs no settings, on the standard networks: outputs and gradients stay."""

from dataclasses import MISSING, fields
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500 import registry
from deep500.networks import (
    GPT,
    LSTM,
    DigitsCnn,
    GoogLeNet,
    MobileNetV2,
    ResNet,
    UNet,
    ViT,
)

from .equivalence import assert_equivalent, passes_the_check

IN_TRAINING_ANOTHER = {"EvaluationMode"}  # what it is for
KINDS: list[Any] = [
    registry.find("transformations", name)
    for name in registry.known("transformations")
    if name not in IN_TRAINING_ANOTHER
]
FREE = [
    kind()
    for kind in KINDS
    if all(field.default is not MISSING for field in fields(kind))
]
QUICK: list[Any] = [GPT, LSTM, DigitsCnn, ResNet]
SLOW: list[Any] = [GoogLeNet, MobileNetV2, UNet, ViT]
NETWORKS = [*QUICK, *(pytest.param(kind, marks=pytest.mark.slow) for kind in SLOW)]
each = pytest.mark.parametrize(
    "transformation", FREE, ids=lambda one: type(one).__name__
)


def tiny(kind: Any) -> d5.Network:
    settings, shape, outputs = kind.tiny
    return kind(**settings).build(shape, outputs, seed=1, dtype="float64")


@pytest.mark.parametrize("kind", NETWORKS, ids=lambda kind: kind.__name__)
@each
def test_outputs_gradients_and_names_stay(transformation: Any, kind: Any) -> None:
    network = tiny(kind)
    nodes, arrays = network.nodes, dict(network.params)
    after = transformation(network)
    assert after.outputs == network.outputs and after.trainable == network.trainable
    assert after.inputs.keys() == network.inputs.keys()
    # the original stays as it is
    assert network.nodes == nodes and network.params == arrays
    assert_equivalent(network, after)


@pytest.mark.parametrize("kind", [DigitsCnn, GPT], ids=lambda kind: kind.__name__)
@each
def test_the_check_of_networks_finds_nothing(transformation: Any, kind: Any) -> None:
    network = tiny(kind)
    assert passes_the_check(transformation(network), network)


class WrongBias(d5.transformations.DeadNodes):
    """Changes one bias by a little."""

    def apply(self, network: d5.Network) -> None:
        network.params["conv1.bias"] = network.params["conv1.bias"] + 1e-8


class WrongGradient(d5.transformations.DeadNodes):
    """Merges two trained parameters that happen to be equal: outputs stay, gradients do not."""

    def apply(self, network: d5.Network) -> None:
        network.rewire("b", "a")


def twins() -> d5.Network:
    network = d5.Network()
    network.add_input("x", (0, 2), "float64")
    for name in "ab":
        network.add_param(name, np.ones(2))
    product = network.add_node("Mul", (network.add_node("Mul", ("x", "a")), "b"))
    network.add_output(network.add_node("ReduceMean", (product,), ["loss"], keepdims=0))
    return network


@pytest.mark.parametrize(
    ("network", "wrong", "where"),
    [
        (tiny(DigitsCnn), WrongBias(), "loss|logits"),
        (twins(), WrongGradient(), "gradient of a"),
    ],
)
def test_planted_errors_are_found(network: d5.Network, wrong: Any, where: str) -> None:
    assert_equivalent(network, network.copy())
    with pytest.raises(AssertionError, match=where):
        assert_equivalent(network, wrong(network))
    assert passes_the_check(network.copy(), network) and not passes_the_check(
        wrong(network), network
    )
