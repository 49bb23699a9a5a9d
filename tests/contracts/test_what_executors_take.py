"""What users give an executor first: files, lists, wrong names, modules that raise."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5

FRAMEWORKS = d5.available_frameworks()
X = np.arange(8, dtype="float32").reshape(2, 4)


def network() -> d5.Network:
    net = d5.Network("small")
    net.add_input("x", (2, 4))
    net.add_node("Relu", ["x"], ["y"])
    net.outputs.append("y")
    return net


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_executor_takes_a_file(name: str, tmp_path: Path) -> None:
    framework = d5.framework(name)
    file = tmp_path / "small.onnx"
    network().to_onnx(file)
    for path in (file, str(file)):
        outputs = framework.executor(path).inference({"x": X})
        assert np.array_equal(framework.array(outputs["y"]), X)
    with pytest.raises(
        d5.Deep500Error, match="a d5.Network or an ONNX file, not a int"
    ):
        framework.executor(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("value", [X.tolist(), X.astype("float64"), X.astype(int)])
def test_inference_takes_lists_and_other_numbers(name: str, value: Any) -> None:
    framework = d5.framework(name)
    outputs = framework.executor(network()).inference({"x": value})
    assert np.array_equal(framework.array(outputs["y"]), X)


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"x": X[:, :3]}, r"shape \(2, 3\), and \(2, 4\) is wanted"),
        ({"z": X}, "needs x, and these came: z"),
        ({"x": "text"}, "and float32 is wanted"),
        (X, "a mapping of names to arrays, not a ndarray"),
        ({}, "needs x, and these came: none"),
    ],
)
def test_other_inputs_are_refused_in_one_line(
    name: str, inputs: Any, text: str
) -> None:
    executor = d5.framework(name).executor(network())
    with pytest.raises(d5.Deep500Error, match=text) as caught:
        executor.inference(inputs)
    assert "\n" not in str(caught.value)


def test_nodes_with_unknown_attributes_or_too_many_inputs_are_refused() -> None:
    net = network()
    with pytest.raises(d5.Deep500Error, match="'alhpa'. Did you mean 'alpha'"):
        net.add_node("LeakyRelu", ["x"], alhpa=0.1)
    with pytest.raises(d5.Deep500Error, match="takes 1 inputs .*, and 2 are given"):
        net.add_node("Relu", ["x", "x"])


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_step_refuses_fractions_for_labels_in_every_call(name: str) -> None:
    net = d5.networks.create("mlp", outputs=2, shape=(4,), seed=0)
    executor = d5.framework(name).executor(net)
    step = executor.training_step(d5.optimizers.SGD(0.1))
    step({"x": X, "label": np.array([0, 1])})
    for labels in (np.array([0.0, 1.0]), [0.5, 1]):
        with pytest.raises(d5.Deep500Error, match="'label' is of float64, and int64"):
            step({"x": X, "label": labels})


@pytest.mark.parametrize(
    ("inputs", "attributes", "text"),
    [
        (["x"], {"operator": "Transpose", "perm": (0, 1, 2)}, "orders 3 axes"),
        (["x", "x"], {"operator": "Conv"}, "the input has 0 axes"),
        (["x"], {"operator": 3}, "3 is no operator"),
        ("x", {"operator": "Relu"}, "a list of names"),
        ({"x": "x"}, {"operator": "Relu"}, "a list of names"),
    ],
)
def test_nodes_that_never_fit_are_refused(
    inputs: Any, attributes: dict[str, Any], text: str
) -> None:
    with pytest.raises(d5.Deep500Error, match=text):
        network().add_node(inputs=inputs, **attributes)


def test_a_module_is_told_that_its_inputs_are_of_another_float() -> None:
    torch = pytest.importorskip("torch")
    executor = d5.framework("pytorch").from_model(torch.nn.Linear(4, 3))
    text = "the input 'input' is of float64, and the parameters of float32"
    with pytest.raises(d5.Deep500Error, match=text):
        executor.inference({"input": X.astype("float64")})


def test_a_module_keeps_its_mode() -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.5)).eval()
    executor = d5.framework("pytorch").from_model(model)
    assert not model.training
    first, second = (executor.inference({"input": X})["output"] for _ in "ab")
    assert torch.equal(first, second) and not model.training
    model.train()
    executor.inference({"input": X})
    assert model.training and model[1].training


def test_an_error_of_a_module_names_its_line() -> None:
    torch = pytest.importorskip("torch")

    class Raises(torch.nn.Linear):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return {"x": x}["missing"]

    executor = d5.framework("pytorch").from_model(Raises(4, 3))
    text = r"cannot run the network 'Raises': KeyError: 'missing', in .*forward \("
    for run in (executor.inference, executor.inference_and_backprop):
        with pytest.raises(d5.Deep500Error, match=text):
            run({"x": X})


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_fractions_for_whole_numbers_are_refused(name: str) -> None:
    net = d5.Network("rows")
    net.add_param("table", X, trainable=False)
    net.add_input("places", (0,), "int64")
    net.add_node("Gather", ["table", "places"], ["y"])
    net.outputs.append("y")
    framework = d5.framework(name)
    for places in ([0.0, 1.9], np.array([0.0, 1.9]), np.array([0, 1], "float32")):
        executor = framework.executor(net)
        with pytest.raises(d5.Deep500Error, match="'places' is of float.* int64"):
            executor.inference({"places": places})
        # also in a later call
        executor.inference({"places": np.array([0, 1])})
        with pytest.raises(d5.Deep500Error, match="'places' is of float.* int64"):
            executor.inference({"places": places})
    outputs = framework.executor(net).inference({"places": np.array([1, 0], "int8")})
    assert np.array_equal(framework.array(outputs["y"]), X[::-1])
