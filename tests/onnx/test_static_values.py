"""Values of static inputs that end an engine's process are refused before it runs."""

import numpy as np
import pytest

import deep500 as d5
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework


def stft(step: int, length: int) -> d5.Network:
    network = d5.Network("stft")
    signal = network.add_input("signal", (1, 16, 1))
    network.add_output(network.add_node("STFT", (signal, step, None, length)))
    return network


@pytest.mark.parametrize("name", available_frameworks())
@pytest.mark.parametrize(
    ("step", "length", "said"),
    [(2, 0, "frames of 0 samples"), (0, 4, "frame_step of 0"), (2, -1, "frames of -1")],
)
def test_frames_without_samples(name: str, step: int, length: int, said: str) -> None:
    """ONNX Runtime divides by the length of a frame: a 0 was the end of the process by SIGFPE."""
    inputs = {"signal": np.ones((1, 16, 1), "float32")}
    with pytest.raises(Deep500Error, match=said):
        framework(name).executor(stft(step, length)).inference(inputs)


@pytest.mark.parametrize("name", available_frameworks())
def test_honest_frames(name: str) -> None:
    inputs = {"signal": np.linspace(0, 1, 16, dtype="float32").reshape(1, 16, 1)}
    network = stft(2, 4)
    right = framework("reference").executor(network).inference(inputs)
    outputs = framework(name).executor(network).inference(inputs)
    for output, value in right.items():
        actual = framework(name).array(outputs[output])
        assert np.allclose(actual, value, atol=1e-4)


@pytest.mark.parametrize("name", available_frameworks())
def test_statistics_of_a_normalisation_are_there_without_training(name: str) -> None:
    """ONNX's own node has one output then; the formula has all."""
    network = d5.Network("norm")
    x = network.add_input("x", ("batch", 3, 2, 2))
    ones = [network.add_param(f"p{i}", np.ones(3, "float32"), False) for i in range(4)]
    outputs = ("y", "mean", "var")
    network.add_node("BatchNormalization", (x, *ones), outputs, training_mode=1)
    for output in outputs:
        network.add_output(output)
    inputs = {"x": np.ones((2, 3, 2, 2), "float32")}
    results = framework(name).executor(network).inference(inputs)
    assert list(results) == list(outputs)
    assert framework(name).array(results["mean"]).shape == (3,)
