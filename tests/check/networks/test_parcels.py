"""What is sent to another process arrives as it was; what it could not have is refused here."""

import json

import ml_dtypes
import numpy as np
import pytest

import deep500 as d5
from deep500.check.networks.parcels import Parcel, Unpackable, unpacked


def sent(value, path):
    parcel = Parcel()
    message = json.loads(json.dumps(parcel.pack(value)))
    parcel.write(path)
    return unpacked(message, path.read_bytes())


def test_values_arrive_as_they_were(tmp_path):
    arrays = [
        np.arange(5.0).astype(ml_dtypes.bfloat16),
        np.zeros((0, 3)),
        np.array(True),
        np.arange(6).reshape(2, 3).T,
    ]
    value = {"a": (1, None, "x", [2.5]), 3: np.float32(0.1), "arrays": arrays}
    found = sent(value, tmp_path / "values")
    assert (
        found["a"] == value["a"]
        and isinstance(found[3], np.float32)
        and found[3] == value[3]
    )
    for array, want in zip(found["arrays"], arrays, strict=True):
        assert array.dtype == want.dtype and array.shape == want.shape
        np.testing.assert_array_equal(array, want)
        assert array.flags.writeable


def test_a_network_arrives_as_it_was(tmp_path):
    network = d5.networks.DigitsCnn().build((1, 8, 8), 10)
    found = sent(network, tmp_path / "values")
    assert found.nodes == network.nodes and found.inputs == network.inputs
    assert found.outputs == network.outputs and found.trainable == network.trainable
    for name, value in network.params.items():
        np.testing.assert_array_equal(found.params[name], value)


def test_what_no_other_process_can_have_is_refused(tmp_path):
    class Relu(d5.operators.Relu):
        pass

    stranger = type(
        "Relu", (d5.operators.Relu,), {"__module__": d5.operators.Relu.__module__}
    )
    for value in (Relu(), stranger(), np.array(["text"]), object()):
        with pytest.raises(Unpackable):
            sent(value, tmp_path / "values")
