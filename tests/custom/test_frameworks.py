"""Custom operators on every framework: values, gradients, networks that train, dtypes, mistakes in one line."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.network import Network
from deep500.custom.cpp import CppOp
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework

FRAMEWORKS = available_frameworks()
X = np.random.default_rng(0).standard_normal((4, 6)).astype("float32")


class IPowOp(d5.CustomPythonOp):
    def __init__(self, power):
        super(IPowOp, self).__init__()  # noqa: UP008 - as printed
        self.power = power
        assert int(power) == power  # integral

    def forward(self, inputs):
        return inputs[0] ** self.power

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * self.power * (fwd_inputs[0] ** (self.power - 1))


class ProductAndSum(d5.CustomPythonOp):
    num_inputs, num_outputs = 2, 2

    def forward(self, inputs):
        x, y = inputs
        return x * y, x + y

    def backward(self, grads, fwd_inputs, fwd_outputs):
        (dp, ds), (x, y) = grads, fwd_inputs
        return dp * y + ds, dp * x + ds


PRODUCT_AND_SUM = """
template<typename T>
struct both : deep500::CustomOperator {
    int64_t n;
    both(int64_t length) : n(length) {}
    void forward(const T *x, const T *y, T *p, T *s) {
        for (int64_t i = 0; i < n; ++i) { p[i] = x[i] * y[i]; s[i] = x[i] + y[i]; }
    }
    void backward(const T *dp, const T *ds, const T *x, const T *y, const T *p, const T *s, T *dx, T *dy) {
        for (int64_t i = 0; i < n; ++i) { dx[i] = dp[i] * y[i] + ds[i]; dy[i] = dp[i] * x[i] + ds[i]; }
    }
};
"""


@pytest.fixture(scope="module")
def both(sources: Path) -> CppOp:
    (sources / "both.cpp").write_text(PRODUCT_AND_SUM)
    return d5.compile_custom_cppop("both", sources / "both.cpp")


@pytest.fixture(scope="module")
def ipowop(sources: Path) -> CppOp:
    return d5.compile_custom_cppop(
        "ipowop", sources / "ipowop.cpp", definitions={"DPOWER": 3}
    )


def custom_op(name: str, op: Any) -> Any:
    return importlib.import_module(f"deep500.frameworks.{name}").custom_op(op)


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("language", ["Python", "C++"])
def test_values_and_gradients_are_right(
    name: str, language: str, ipowop: CppOp
) -> None:
    op, fw = IPowOp(3) if language == "Python" else ipowop, framework(name)
    made = custom_op(name, op)(fw.tensor(X))
    np.testing.assert_allclose(fw.array(made), X**3, rtol=1e-6)
    np.testing.assert_allclose(d5.evaluate(op, [X], framework=name)[0], X**3, rtol=1e-6)
    found = d5.gradient(op, [X], grads=[2 * X], framework=name)
    np.testing.assert_allclose(found[0], 6 * X**3, rtol=1e-6)


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("language", ["Python", "C++"])
def test_several_inputs_and_outputs(name: str, language: str, both: CppOp) -> None:
    op = ProductAndSum() if language == "Python" else both
    fw, y = framework(name), X[::-1].copy()
    product, total = custom_op(name, op)(fw.tensor(X), fw.tensor(y))
    np.testing.assert_array_equal(fw.array(product), X * y)
    np.testing.assert_array_equal(fw.array(total), X + y)
    found = d5.gradient(op, [X, y], grads=[X, y], framework=name)
    np.testing.assert_allclose(found[0], X * y + y, rtol=1e-6)
    np.testing.assert_allclose(found[1], X * X + y, rtol=1e-6)


def network(op: Any) -> Network:
    """The mean of (x w)³, with a custom operator between two others."""
    net = Network("powers")
    net.add_input("x", (0, 6))
    net.add_param("w", np.linspace(-1, 1, 18, dtype="float32").reshape(6, 3))
    net.add_node("MatMul", ["x", "w"], ["h"])
    net.add_node(op, ["h"], ["p"])
    net.add_node("Mul", ["p", "h"], ["q"])  # h is used on both sides of the custom node
    net.add_node("ReduceMean", ["q"], ["loss"], keepdims=0)
    net.add_output("loss")
    return net


def by_hand(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    h = x.astype("float64") @ w
    return np.mean(h**4), x.T @ (4 * h**3 / h.size)


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("language", ["Python", "C++"])
def test_a_network_trains_with_any_batch(
    name: str, language: str, ipowop: CppOp
) -> None:
    net = network(IPowOp(3) if language == "Python" else ipowop)
    executor = framework(name).executor(net)
    fw, step = executor.framework, executor.training_step(d5.optimizers.SGD(0.1))
    for batch in (4, 3):
        loss, gradient = by_hand(X[:batch], executor.arrays()["w"])
        found = executor.inference_and_backprop({"x": X[:batch]})
        np.testing.assert_allclose(fw.array(found["loss"]), loss, rtol=1e-5)
        np.testing.assert_allclose(
            fw.array(executor.gradients["w"]), gradient, rtol=1e-4, atol=1e-6
        )
        np.testing.assert_allclose(
            fw.array(executor.inference({"x": X[:batch]})["loss"]), loss, rtol=1e-5
        )
    before, (_, gradient) = executor.arrays()["w"], by_hand(X, executor.arrays()["w"])
    step({"x": X})
    np.testing.assert_allclose(
        executor.arrays()["w"], before - 0.1 * gradient, rtol=1e-4, atol=1e-6
    )
    assert executor.kernels().keys() == {node.name for node in net.nodes}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["pytorch", "jax", "tensorflow", "reference"])
def test_other_dtypes(name: str, dtype: str, ipowop: CppOp) -> None:
    fw, x = framework(name), X.astype(dtype)
    bound = {"float16": 1e-2, "bfloat16": 8e-2, "float64": 1e-12}[dtype]
    for op in (IPowOp(3), ipowop):
        made = fw.array(custom_op(name, op)(fw.tensor(x)))
        assert made.dtype == x.dtype
        np.testing.assert_allclose(
            made.astype("float64"),
            x.astype("float64") ** 3,
            rtol=bound,
            atol=bound / 100,
        )


class Flat(IPowOp):
    def backward(self, grads, fwd_inputs, fwd_outputs):
        return super().backward(grads, fwd_inputs, fwd_outputs).ravel()


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_gradient_of_the_wrong_shape_is_one_line(name: str) -> None:
    with pytest.raises(
        Deep500Error,
        match=r"Flat.backward gives a gradient of the shape \(24,\) for input 0, whose "
        r"shape is \(4, 6\)",
    ) as caught:
        d5.gradient(Flat(2), [X], grads=[X], framework=name)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_wrong_inputs_are_one_line(name: str, sources: Path) -> None:
    fixed = d5.compile_custom_cppop(
        "ipowop",
        sources / "tutorial.cpp",
        [d5.tensordesc([4, 6], np.float32)],
        [d5.tensordesc([4, 6], np.float32)],
        definitions={"DTYPE": "float", "DPOWER": "3"},
    )
    f, fw = custom_op(name, fixed), framework(name)
    np.testing.assert_allclose(fw.array(f(fw.tensor(X))), X**3, rtol=1e-6)
    with pytest.raises(
        Deep500Error, match=r"ipowop takes float32\[4, 6\], and float32\[3, 6\] came"
    ):
        f(fw.tensor(X[:3]))
    with pytest.raises(
        Deep500Error, match=r"ipowop takes float32\[4, 6\], and float64\[4, 6\] came"
    ):
        f(fw.tensor(X.astype("float64")))
    with pytest.raises(
        Deep500Error, match=r"ipowop takes .* and float32\[4, 6\], float32\[4, 6\] came"
    ):
        f(fw.tensor(X), fw.tensor(X))


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("kernel", ["native", "composed"])
@pytest.mark.parametrize("language", ["Python", "C++"])
def test_prepared_calls_are_right(
    name: str, kernel: str, language: str, ipowop: CppOp
) -> None:
    """What `d5 check operator` calls in sequence and `d5 bench operator` times."""
    op, fw = IPowOp(3) if language == "Python" else ipowop, framework(name)
    assert fw.kernel(op.operator, inputs=[X])[1] == "native"
    forward = fw.forward_call(op.operator, [X], kernel)
    np.testing.assert_allclose(forward.run()[0], X**3, rtol=1e-6)
    backward = fw.backward_call(op.operator, [X], [2 * X], "composed")
    np.testing.assert_allclose(backward.run()[0], 6 * X**3, rtol=1e-6)
