"""What `gradient` is given for the outputs is a list of one array each; what it cannot differentiate is None."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5

X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("grads", [[], [X, X], X], ids=["none", "too many", "no list"])
def test_wrong_gradients_are_one_line(grads: Any) -> None:
    with pytest.raises(
        d5.Deep500Error,
        match=r"Softmax's outputs \(y\) are a list of arrays, one for each",
    ):
        d5.gradient(d5.operators.Softmax(), [X], grads=grads)


def test_what_has_no_derivative_has_no_gradient() -> None:
    assert d5.gradient(d5.operators.ArgMax(), [X], grads=[X]) == [None]
    assert d5.gradient(d5.operators.Relu(), [X], grads=[X])[0].shape == X.shape
