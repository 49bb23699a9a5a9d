"""Settings and static inputs whose range ONNX states: the ends are taken, and what lies beyond is one line."""

import math
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import deep500 as d5
from deep500 import registry
from deep500.canonical import canonical
from deep500.contracts.setting_ranges import Allowed
from deep500.errors import Deep500Error


def ranged() -> Iterator[Any]:
    """Every annotation with a range: of settings, and of static inputs."""
    for name in registry.known("operators"):
        operator: Any = registry.find("operators", name)
        hints = typing.get_type_hints(operator, include_extras=True)
        inputs = {key: value.annotation for key, value in operator.inputs.items()}
        for setting, annotation in {**hints, **inputs}.items():
            for bound in typing.get_args(annotation)[1:]:
                if isinstance(bound, Allowed):
                    yield pytest.param(annotation, bound, id=f"{name}-{setting}")


@pytest.mark.parametrize(("annotation", "bound"), [*ranged()])
def test_the_ends_are_taken_and_nothing_beyond(annotation: Any, bound: Allowed) -> None:
    kind = typing.get_args(annotation)[0]
    several = "tuple" in str(kind)

    def taken(number: float) -> Any:
        return canonical([1, number] if several else number, annotation)

    assert taken(bound.least) == ((1, bound.least) if several else bound.least)
    wrong = [bound.least - 1]
    if math.isfinite(bound.most):
        assert taken(bound.most) == bound.most
        wrong.append(bound.most + 1e-9)
    if math.isfinite(bound.below):
        wrong.append(bound.below)
    for number in wrong:
        with pytest.raises(ValueError, match="wanted"):
            taken(number)


def test_there_are_some() -> None:
    assert len([*ranged()]) >= 40


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("Conv", {"strides": (0, 1)}, "strides of Conv is (0, 1), and numbers from 1"),
        ("Conv", {"pads": (-1, 0, 0, 0)}, "and numbers from 0 on are wanted"),
        ("LRN", {"size": 0}, "size of LRN is 0, and a number from 1 on is wanted"),
    ],
)
def test_a_setting_out_of_range(name: str, settings: dict, said: str) -> None:
    with pytest.raises(Deep500Error) as raised:
        registry.find("operators", name)(**settings)
    assert said in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("ratio", [1.5, 1.0, -0.1, math.nan])
def test_dropout_of_everything_and_more(ratio: float) -> None:
    said = "'ratio' of Dropout is .*, and a number from 0 on and below 1 is wanted"
    network = d5.Network()
    network.add_input("x", (2, 3))
    with pytest.raises(Deep500Error, match=said):
        network.add_node("Dropout", ["x", ratio])
    assert [*network.nodes] == []
    with pytest.raises(Deep500Error, match=said):
        d5.evaluate(d5.operators.Dropout(), [[1.0, 2.0], ratio, True])
