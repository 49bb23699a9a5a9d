"""A network, a module or a number where something else is wanted: one line that says what to give."""

from typing import Any

import numpy as np
import pytest
import torch

import deep500 as d5

NETWORK = d5.networks.Mlp(hidden=(4,)).build((5,), 3)
SPLIT = d5.Split({"x": np.ones((12, 5), np.float32), "label": np.arange(12) % 3})
DATA = {name: SPLIT for name in ("train", "validation", "test")}


def train(executor: Any, sampler: Any) -> Any:
    return d5.Trainer(
        executor, d5.optimizers.SGD(0.1), splits=DATA, sampler=sampler, epochs=1
    )


@pytest.mark.parametrize("model", [NETWORK, torch.nn.Linear(5, 3), "mlp", None])
def test_what_is_no_executor(model: Any) -> None:
    with pytest.raises(d5.Deep500Error, match="cannot be trained as it is: give") as e:
        train(model, d5.ShuffleSampler(4))
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("sampler", [8, d5.ShuffleSampler, None])
def test_what_is_no_sampler(sampler: Any) -> None:
    executor = d5.framework("reference").executor(NETWORK)
    with pytest.raises(d5.Deep500Error, match=r"such as d5.ShuffleSampler\(64\)"):
        train(executor, sampler)


@pytest.mark.parametrize("shape", [28, "28", {28}])
def test_what_is_no_shape(shape: Any) -> None:
    with pytest.raises(d5.Deep500Error, match="give the sizes of one input"):
        d5.networks.create("lenet", outputs=10, shape=shape)


@pytest.mark.parametrize("model", [torch.nn.Sequential(torch.nn.Linear(5, 3)), None, 3])
def test_what_is_no_network(model: Any) -> None:
    with pytest.raises(d5.Deep500Error, match="is no ONNX model: give") as caught:
        d5.check_network(model)
    assert "\n" not in str(caught.value)


def test_a_module_is_no_engine() -> None:
    with pytest.raises(d5.Deep500Error, match="it takes a dict of arrays") as caught:
        d5.check_network(NETWORK, against=torch.nn.Linear(5, 3))
    assert str(caught.value).startswith("Linear raised TypeError")
