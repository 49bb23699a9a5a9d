"""Losses as definitions: the value is what it should be, on every framework."""

import numpy as np
import pytest

import deep500 as d5


@pytest.mark.parametrize("name", ["reference", "pytorch", "onnxruntime"])
def test_cross_entropy_is_the_mean_negative_log_probability(name):
    network = d5.Network()
    network.add_input("logits", (0, 3))
    network.add_input("label", (0,), "int64")
    assert d5.losses.CrossEntropy().add(network, "logits", "label") == "loss"
    network.add_output("loss")
    logits, label = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], np.float32), np.array([2, 0])
    executor = d5.framework(name).executor(network)
    found = executor.framework.array(executor.inference({"logits": logits, "label": label})["loss"])
    probability = np.exp(logits.astype(float)) / np.exp(logits.astype(float)).sum(1, keepdims=True)
    assert found == pytest.approx(-np.log(probability[[0, 1], label]).mean(), rel=1e-6)
    swapped = executor.framework.array(
        executor.inference({"logits": logits, "label": label[::-1].copy()})["loss"]
    )
    assert swapped != pytest.approx(found)


@pytest.mark.parametrize("name", ["reference", "pytorch", "onnxruntime"])
def test_binary_cross_entropy_is_the_mean_negative_log_probability(name):
    network = d5.Network()
    network.add_output(network.add_input("score", (0, 1)))
    network = d5.losses.BinaryCrossEntropy().attach(network)
    score, label = np.array([[2.0], [-1.0], [90.0]]), np.array([[1.0], [1.0], [0.0]])
    executor = d5.framework(name).executor(network)
    inputs = {"score": score.astype("float32"), "label": label.astype("float32")}
    loss = executor.framework.array(executor.inference(inputs)["loss"])
    expected = (np.log1p(np.exp(-2)) + np.log1p(np.exp(1)) + 90) / 3
    assert loss == pytest.approx(expected, rel=1e-6)
