"""Products with a bias are one call of PyTorch, with the same results."""

from typing import Any

import numpy as np
import pytest

from deep500.contracts.network import Network
from deep500.frameworks.pytorch import FRAMEWORK as PYTORCH
from deep500.frameworks.reference import FRAMEWORK as REFERENCE


def network(
    weight=(4, 5), bias=(5,), order=(0, 1, 2), transposed=False, bias_first=False
):
    """x of 2 x 3 x 4 times a matrix, and a bias."""
    draw = np.random.default_rng(0)
    net = Network("linear")
    net.add_input("x", (2, 3, 4))
    net.add_param("w", np.asarray(draw.standard_normal(weight), "float32"))
    net.add_param("b", np.asarray(draw.standard_normal(bias), "float32"))
    x = net.add_node("Transpose", ("x",), perm=order)
    w = net.add_node("Transpose", ("w",), perm=(1, 0)) if transposed else "w"
    product = net.add_node("MatMul", (x, w))
    total = net.add_node("Add", ("b", product) if bias_first else (product, "b"), ["y"])
    loss = net.add_node(
        "ReduceMean", (net.add_node("Sin", (total,)),), ["loss"], keepdims=0
    )
    net.add_output("y")
    net.add_output(loss)
    return net


def called(net):
    """The code that PyTorch runs for a training step, and its results."""
    executor = PYTORCH.executor(net)
    results = executor.inference_and_backprop({"x": X})
    (mode,) = executor.programs.values()
    (program,) = mode.programs.values()
    return program.__self__.code, results, executor.gradients


X = np.random.default_rng(1).standard_normal((2, 3, 4)).astype("float32")
LINEAR: dict[str, dict[str, Any]] = {
    "plain": {},
    "transposed": {"weight": (5, 4), "transposed": True},
    "bias first": {"bias_first": True},
    "rows in another order": {"order": (1, 0, 2)},
    "columns in another order": {"order": (0, 2, 1), "weight": (3, 5)},
}
NOT_LINEAR: dict[str, dict[str, Any]] = {
    "a bias of every row": {"bias": (3, 5)},
    "one number": {"bias": (1,)},
    "a matrix for every example": {"weight": (2, 4, 5)},
}


@pytest.mark.parametrize("name", [*LINEAR, *NOT_LINEAR])
def test_the_results_are_those_of_the_reference(name):
    net = network(**(LINEAR | NOT_LINEAR)[name])
    code, results, gradients = called(net)
    assert ("nn.linear(" in code) == (name in LINEAR)
    reference = REFERENCE.executor(net)
    expected = reference.inference_and_backprop({"x": X})
    for key, value in expected.items():
        np.testing.assert_allclose(PYTORCH.array(results[key]), value, 1e-5, 1e-6)
    for key, value in reference.gradients.items():
        np.testing.assert_allclose(PYTORCH.array(gradients[key]), value, 1e-4, 1e-6)


def test_a_product_that_others_use_too_stays():
    net = network()
    net.add_output(net.node("MatMul").outputs[0])
    code, _, _ = called(net)
    assert "matmul(" in code
    assert "linear(" not in code.replace("self", "")
