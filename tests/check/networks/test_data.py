"""Data for the check of a network: what a file holds is taken as it is, or refused."""

from pathlib import Path

import numpy as np
import pytest

import deep500 as d5
from deep500.check.networks.data import checked_data, data_from_file


def counting() -> d5.Network:
    network = d5.Network("counting")
    network.add_input("count", (0,), "uint8")
    network.add_input("x", (0,))
    network.add_node("Identity", ["count"], ["same"])
    network.add_node("Relu", ["x"], ["y"])
    network.outputs += ["same", "y"]
    return network


X = np.ones(2)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (np.array([0.0, 1.7]), "'count' is of float64, and uint8 is wanted"),
        (np.array([0, 256]), "is of int64, and some of its numbers are none of uint8"),
        (np.array(["a", "b"]), "'count' is no array of uint8"),
        ([[1], [2, 3]], "'count' is no array of uint8"),
    ],
    ids=["fractions", "too large", "texts", "ragged"],
)
def test_what_a_conversion_would_change_is_refused(count: object, text: str) -> None:
    with pytest.raises(d5.Deep500Error, match=text):
        checked_data(counting(), {"count": count, "x": X})


def test_what_fits_is_converted(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", count=np.array([0, 255]), x=X)
    data = data_from_file(counting(), tmp_path / "data.npz")
    assert data["count"].dtype == np.uint8
    assert data["count"].tolist() == [0, 255]
    assert data["x"].dtype == np.float32
