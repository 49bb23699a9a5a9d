"""Framework.custom_op: the same function by the method, by the package's name, and as a network's kernel."""

import importlib
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.framework import Abilities
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.frameworks.reference import Reference

NAMES = ["fake", "jax", "onnxruntime", "pytorch", "reference", "tensorflow"]
X = np.asarray([[1, -2, 3]], "float32")


class Square(d5.CustomPythonOp):
    """x squared, which counts its calls."""

    calls = 0

    def forward(self, inputs):
        self.calls += 1
        return inputs[0] ** 2

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 2 * grads[0] * fwd_inputs[0]


class Plain(Reference):
    """A framework without custom operators of its own."""

    name = "plain"
    abilities = Abilities(eager=True)

    def _custom_op(self, operator: Any) -> Any:
        return super(Reference, self)._custom_op(operator)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    if not framework(request.param).available():
        pytest.skip(f"{request.param} is not installed")
    return request.param


def test_the_method_and_the_packages_name_are_one(name: str) -> None:
    fw, package = framework(name), importlib.import_module(f"deep500.frameworks.{name}")
    assert package.custom_op == fw.custom_op
    made = package.custom_op(Square())(fw.tensor(X))
    assert np.array_equal(fw.array(made), X**2)


def test_it_is_the_native_kernel_of_the_operator(name: str) -> None:
    op, fw = Square(), framework(name)
    call = fw.forward_call(op.operator, [X], "native")
    before = op.calls
    assert np.array_equal(call.run()[0], X**2)
    assert op.calls > before
    # which records, and splits networks around custom operators
    if name != "onnxruntime":
        assert fw.kernel(op.operator)[1] == "native"


def test_in_a_network_and_backward(name: str) -> None:
    network = d5.Network()
    network.add_input("x", (0, 3))
    network.add_param("w", np.asarray([2, 2, 2], "float32"))
    network.add_node("Mul", ["x", "w"], ["scaled"])
    network.add_node(Square(), ["scaled"], ["squares"], name="square")
    network.add_node("ReduceSum", ["squares"], ["loss"], keepdims=0)
    network.add_output("loss")
    executor = framework(name).executor(network)
    outputs = executor.inference_and_backprop({"x": X})
    assert np.allclose(framework(name).array(outputs["loss"]), (4 * X**2).sum())
    assert np.allclose(framework(name).array(executor.gradients["w"]), 4 * X[0] ** 2)
    assert executor.kernels()["square"] == "native"


@pytest.mark.parametrize("what", [Square, d5.operators.Relu(), "ipowop.cpp", None])
def test_what_is_no_custom_operator_is_refused(what: Any) -> None:
    with pytest.raises(
        Deep500Error, match="is no custom operator: give a CustomPythonOp"
    ):
        framework("reference").custom_op(what)


def test_a_framework_without_them_runs_the_formula() -> None:
    plain, op = Plain(), Square()
    with pytest.raises(Unsupported, match="plain takes no custom operators"):
        plain.custom_op(op)
    assert plain.kernel(op.operator)[1] == "composed"
    assert np.array_equal(plain.evaluate(op.operator, [X])[0], X**2)
