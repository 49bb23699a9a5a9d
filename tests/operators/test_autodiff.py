"""The frameworks differentiate their native kernels as our derivatives say: it is what their executors train by."""

from collections.abc import Iterator

import pytest

from deep500.frameworks import framework

from .checking import Example, autograd, examples, gradient_faults, marks

AUTODIFF = ("jax", "pytorch", "tensorflow")


def grid() -> Iterator:
    for name in (name for name in AUTODIFF if framework(name).available()):
        for e in (e for e in examples() if e.smooth and e.operator.native(name)):
            for dtype in ("float32", "float64"):
                yield pytest.param(
                    e,
                    name,
                    dtype,
                    id=f"{e.name}-{name}-{dtype}",
                    marks=marks(e, name, dtype),
                )


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    for name in AUTODIFF:
        if framework(name).available():
            framework(name).set_threads(1)


@pytest.mark.parametrize(("example", "name", "dtype"), list(grid()))
def test_autodiff_through_native_kernels_agrees_with_the_derivative(
    example: Example, name: str, dtype: str
) -> None:
    assert (
        gradient_faults(
            example.as_native, autograd(example.as_native, name, dtype), dtype
        )
        == []
    )


@pytest.mark.parametrize("name", AUTODIFF)
def test_a_kernel_that_loses_a_gradient_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not framework(name).available():
        pytest.skip(f"{name} is not installed")
    stop = {
        "pytorch": lambda self, torch, a, b: (
            a * b - 0.01 * a * b + 0.01 * (a * b).detach()
        ),
        "jax": lambda self, jax, a, b: (
            a * b - 0.01 * jax.lax.stop_gradient(a * b) + 0.01 * a * b
        ),
        "tensorflow": lambda self, tf, a, b: (
            a * b - 0.01 * a * b + 0.01 * tf.stop_gradient(a * b)
        ),
    }
    example = next(e for e in examples() if e.name == "Mul-0")
    monkeypatch.setattr(type(example.operator), name, stop[name])
    assert gradient_faults(example, autograd(example, name, "float32"), "float32")
