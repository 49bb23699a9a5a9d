"""Indices, counts and parts that an axis does not have are refused on every framework, where some take others."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks

X = np.arange(6, dtype="float32").reshape(3, 2)
ROW = np.ones((1, 2), "float32")
WRONG: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "Gather": ("Gather", (X, [5]), "index 5 .* from -3 to 2"),
    "Gather, negative": ("Gather", (X, [0, -4]), "index -4 .* from -3 to 2"),
    "GatherElements": ("GatherElements", (X, [[5, 0]]), "index 5"),
    "GatherND": ("GatherND", (X, [[0, 2]]), "index 2 .* from -2 to 1"),
    "ScatterElements": ("ScatterElements", (X, [[0, 3]], ROW), "index 3"),
    "Scatter": ("Scatter", (X, [[0, 3]], ROW), "index 3"),
    "ScatterND": ("ScatterND", (X, [[3]], ROW), "index 3"),
    "TopK": ("TopK", (X, [3]), "cannot take 3 of an axis of 2"),
    "Split": ("Split", (X, [1, 1]), r"parts of \(1, 1\) of an axis of 3"),
    "Tile": ("Tile", (X, [2]), "a number for each of 2 axes"),
}


@pytest.mark.parametrize("framework", available_frameworks())
@pytest.mark.parametrize("case", WRONG)
def test_what_an_axis_does_not_have(case: str, framework: str) -> None:
    name, inputs, text = WRONG[case]
    with pytest.raises(Deep500Error, match=text):
        d5.evaluate(getattr(d5.operators, name)(), inputs, framework=framework)


def test_the_last_ones_are_taken() -> None:
    [rows] = d5.evaluate(d5.operators.Gather(), [X, [-3, 2]], framework="reference")
    assert rows.tolist() == [[0.0, 1.0], [4.0, 5.0]]
    values, _ = d5.evaluate(d5.operators.TopK(), [X, [2]], framework="reference")
    assert values.shape == (3, 2)
