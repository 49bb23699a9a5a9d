"""What is sent to another process arrives as it was; what it could not have is refused here."""

import json
from contextlib import closing

import ml_dtypes
import numpy as np
import pytest

import deep500 as d5
from deep500.check.networks.runner import RunArrays
from deep500.check.networks.values import ANSWERS, QUESTIONS, pack
from deep500.check.wire import ArrayFile, Malformed, decoded, encoded


def sent(value, unpack=QUESTIONS):
    with closing(ArrayFile.new()) as file:
        message = json.loads(json.dumps(encoded(value, pack, file)))
        return decoded(message, unpack, file)


def test_values_arrive_as_they_were():
    arrays = [
        np.arange(5.0).astype(ml_dtypes.bfloat16),
        np.zeros((0, 3)),
        np.array(True),
        np.arange(6).reshape(2, 3).T,
        np.arange(9000.0),
    ]
    value = {"a": (1, None, "x", [2.5]), 3: np.float32(0.1), "arrays": arrays}
    found = sent(value)
    assert found["a"] == value["a"]
    assert isinstance(found[3], np.float32)
    assert found[3] == value[3]
    for array, want in zip(found["arrays"], arrays, strict=True):
        assert array.dtype == want.dtype and array.shape == want.shape
        np.testing.assert_array_equal(array, want)
        assert array.flags.writeable


def test_a_network_arrives_as_it_was():
    network = d5.networks.DigitsCnn().build((1, 8, 8), 10)
    found = sent(network)
    assert found.nodes == network.nodes and found.inputs == network.inputs
    assert found.outputs == network.outputs and found.trainable == network.trainable
    for name, value in network.params.items():
        np.testing.assert_array_equal(found.params[name], value)


def test_what_no_other_process_can_have_is_refused():
    class Relu(d5.operators.Relu):
        pass

    stranger = type(
        "Relu", (d5.operators.Relu,), {"__module__": d5.operators.Relu.__module__}
    )
    for value in (Relu(), stranger(), object()):
        with pytest.raises(TypeError):
            sent(value)


def test_no_code_is_made_of_an_answer():
    run = RunArrays({"y": np.ones(2)}, {0: np.zeros(1)}, {"n": "native"})
    assert sent(run, ANSWERS).kernels == run.kernels
    for value in (d5.operators.Relu(), d5.networks.DigitsCnn().build((1, 8, 8), 10)):
        with pytest.raises(Malformed):
            sent(value, ANSWERS)
