"""Custom operators under what frameworks do to functions: opcheck, torch.compile, jit, grad, vmap, tf.function."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.errors import Deep500Error

X = np.random.default_rng(1).standard_normal((4, 6)).astype("float32")


class Cube(d5.CustomPythonOp):
    def forward(self, inputs):
        return inputs[0] ** 3

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 3 * grads[0] * fwd_inputs[0] ** 2


@pytest.fixture(params=["Python", "C++"])
def op(request: pytest.FixtureRequest, sources: Path) -> Any:
    if request.param == "Python":
        return Cube()
    return d5.compile_custom_cppop(
        "ipowop", sources / "ipowop.cpp", definitions={"DPOWER": 3}
    )


def test_pytorch(op: Any) -> None:
    torch = pytest.importorskip("torch")
    from deep500.frameworks.pytorch import custom_op

    f, x = custom_op(op), torch.tensor(X, requires_grad=True)
    assert custom_op(op) is f
    assert set(torch.library.opcheck(f, (x,)).values()) == {"SUCCESS"}
    assert torch.autograd.gradcheck(
        f, (torch.randn(3, 2, dtype=torch.float64, requires_grad=True),)
    )
    assert torch.allclose(torch.vmap(f)(x.detach()), x**3)
    y = f(x)
    for _ in range(2):  # a graph that is kept gives the same again
        assert torch.allclose(
            torch.autograd.grad(y.sum(), x, retain_graph=True)[0], 3 * x**2
        )
    assert torch.equal(f(x.t()), f(x).t())  # of another memory layout
    with torch.no_grad():
        assert f(x).grad_fn is None
        kept, other = f(x), f(2 * x)
        assert torch.allclose(8 * kept, other)  # neither overwrites the other
    with pytest.raises(
        (Deep500Error, RuntimeError),
        match="second derivative|not require grad|not implemented",
    ):
        (first,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        first.sum().backward()


def test_a_changed_input_is_noticed_by_pytorch(op: Any) -> None:
    torch = pytest.importorskip("torch")
    from deep500.frameworks.pytorch import custom_op

    x = torch.tensor(X, requires_grad=True)
    h = x * 1
    y = custom_op(op)(h)
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.slow
def test_pytorch_compiled(op: Any) -> None:
    torch = pytest.importorskip("torch")
    from deep500.frameworks.pytorch import custom_op

    f = custom_op(op)
    for dynamic in (False, True):
        torch._dynamo.reset()
        g = torch.compile(
            lambda v: f(v * 2) + 1, fullgraph=True, dynamic=dynamic, backend="aot_eager"
        )
        for rows in (4, 3):
            x = torch.tensor(X[:rows], requires_grad=True)
            y = g(x)
            torch.testing.assert_close(y, 8 * x**3 + 1)
            torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], 24 * x**2)


def test_jax(op: Any) -> None:
    jax = pytest.importorskip("jax")
    from deep500.frameworks.jax import custom_op

    f, slope = custom_op(op), 3 * X**2
    np.testing.assert_allclose(jax.jit(f)(X), X**3, rtol=1e-6)
    derivative = jax.grad(lambda x: f(x).sum())
    np.testing.assert_allclose(jax.jit(derivative)(X), slope, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(f)(X), X**3, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(derivative)(X), slope, rtol=1e-5)


def test_tensorflow(op: Any) -> None:
    tf = pytest.importorskip("tensorflow")
    from deep500.frameworks.tensorflow import custom_op

    f = custom_op(op)

    @tf.function(input_signature=[tf.TensorSpec([None, 6], "float32")])
    def both(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert tuple(y.shape) == (None, 6)
        return y, tape.gradient(y, x)

    for rows in (4, 3):
        y, slope = both(tf.constant(X[:rows]))
        np.testing.assert_allclose(y.numpy(), X[:rows] ** 3, rtol=1e-6)
        np.testing.assert_allclose(slope.numpy(), 3 * X[:rows] ** 2, rtol=1e-5)
    variable = tf.Variable(X)
    with tf.GradientTape() as tape:
        y = f(variable)
    np.testing.assert_allclose(tape.gradient(y, variable).numpy(), 3 * X**2, rtol=1e-5)


def test_nothing_is_copied_on_the_way() -> None:
    """The operator sees the memory of the framework's tensors."""
    torch = pytest.importorskip("torch")
    from deep500.frameworks.pytorch import custom_op

    seen: list[int] = []

    class Spy(Cube):
        def forward(self, inputs):
            seen.append(inputs[0].ctypes.data)
            made = super().forward(inputs)
            seen.append(made.ctypes.data)
            return made

    x = torch.tensor(X, requires_grad=True)
    y = custom_op(Spy())(x)
    assert seen == [x.data_ptr(), y.data_ptr()]
