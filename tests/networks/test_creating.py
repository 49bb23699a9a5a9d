"""Networks by name."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5


def test_a_name_and_settings_are_a_network() -> None:
    network = d5.networks.create(
        "resnet", depth=44, outputs=10, shape=(3, 32, 32), seed=0
    )
    assert network.outputs == ["loss", "logits"] and list(network.inputs) == [
        "x",
        "label",
    ]
    assert sum(network.params[name].size for name in network.get_params()) == 658_586
    same = d5.networks.ResNet(44).build((3, 32, 32), 10, seed=0)
    assert network.nodes == same.nodes
    assert all(
        np.array_equal(array, same.params[name])
        for name, array in network.params.items()
    )


@pytest.mark.parametrize("name", ["LeNet", "lenet", "LENET", "le_net"])
def test_any_spelling(name: str) -> None:
    assert d5.networks.create(name).name == "LeNet"


def test_the_sizes_of_the_literature_where_none_are_said() -> None:
    network = d5.networks.create("lenet", outputs=7)
    assert network.inputs["x"].shape[1:] == (1, 28, 28)
    assert network.params["fc3.weight"].shape == (7, 84)
    assert network.params["fc3.weight"].dtype == "float32"
    assert (
        d5.networks.create("lenet", dtype="float64").params["fc3.weight"].dtype
        == "float64"
    )


MISTAKES: dict[str, dict[str, Any]] = {
    "no network is named 'resnett'. Did you mean 'ResNet'?": {"name": "resnett"},
    "ResNet has no setting 'deph'. Did you mean 'depth'? Known: shape, outputs": {
        "deph": 44
    },
    "ResNet has no depth 45: CIFAR's forms have 6n + 2 layers": {"depth": 45},
    "no depth 2:": {"depth": 2},
    "ResNet has no depth 44 in the form 'imagenet'": {"depth": 44, "form": "imagenet"},
    "ResNet has no form 'mnist': give 'cifar' or 'imagenet'": {"form": "mnist"},
    "ResNet takes inputs of the shape (channels, height, width)": {"shape": (32, 32)},
    "ResNet needs sizes of 1 or more: not the shape (3, 0, 8) with 10 outputs": {
        "shape": (3, 0, 8),
        "outputs": 10,
    },
    "depth of ResNet is": {"depth": "deep"},
    "VGG has no depth 12: give one of 11, 13, 16, 19": {"name": "vgg", "depth": 12},
    "the input of VGG is too small: 'features.": {"name": "vgg", "shape": (3, 16, 16)},
    "WideResNet has no depth 20: give 6n + 4": {"name": "wide_resnet", "depth": 20},
    "that are multiples of 16: not (40, 32)": {"name": "unet", "shape": (1, 40, 32)},
    "patches of 16 takes heights": {"name": "vit", "shape": (3, 30, 32)},
    "a width of 10 cannot be divided among 4 heads": {
        "name": "gpt",
        "width": 10,
        "heads": 4,
    },
    "OnnxFile cannot be made": {"name": "onnx_file"},
    "OnnxFile has no usual sizes: say the shape of one input": {
        "name": "onnx_file",
        "path": "a",
    },
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_mistake_is_one_line_that_says_what_is_valid(message: str) -> None:
    settings = {"name": "resnet"} | MISTAKES[message]
    with pytest.raises(d5.Deep500Error) as error:
        d5.networks.create(**settings)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_depth_of_both_forms() -> None:
    imagenet, cifar = d5.networks.ResNet(50), d5.networks.ResNet(50, form="cifar")
    assert imagenet.usual_sizes() == ((3, 224, 224), 1000)
    assert cifar.usual_sizes() == ((3, 32, 32), 10)
    assert cifar.parameter_count((3, 32, 32), 10) < 1e6
