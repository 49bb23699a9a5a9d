"""JAX and TensorFlow differentiate their native kernels as our derivatives say: it is what their executors train by."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from deep500.frameworks import framework

from .checking import Example, cast, examples, gradient_faults


def by_jax(loss: Callable, values: Sequence[Any]) -> Sequence[Any]:
    jax = framework("jax").module
    return jax.jit(jax.grad(loss))(values)


def by_tensorflow(loss: Callable, values: Sequence[Any]) -> Sequence[Any]:
    tf = framework("tensorflow").module
    with tf.GradientTape() as tape:
        tape.watch(values)
        y = loss(values)
    return tape.gradient(y, values)


AUTODIFF = {"jax": by_jax, "tensorflow": by_tensorflow}


def grid() -> Iterator:
    for name in (name for name in AUTODIFF if framework(name).available()):
        for e in (e for e in examples() if e.smooth and e.operator.native(name)):
            for dtype in ("float32", "float64"):
                slow = name == "jax" and (dtype != "float32" or not e.name.endswith("-0"))
                yield pytest.param(e, name, dtype, id=f"{e.name}-{name}-{dtype}", marks=[pytest.mark.slow] * slow)


def autodiff(example: Example, name: str, dtype: str) -> list[np.ndarray | None]:
    """The framework's own gradients, for the inputs that our derivative gives one."""
    fw, inputs = framework(name), cast(example.inputs, dtype)
    fw.set_threads(1)
    given = {i: fw.tensor(x) if isinstance(x, np.ndarray) else x for i, x in enumerate(inputs)}
    seeds = [None if s is None else fw.tensor(s) for s in cast(example.seeds, dtype)]
    asked = [i for i, g in enumerate(example.gradients) if g is not None]

    def loss(values: Sequence[Any]) -> Any:
        made = fw.kernel(example.operator)[0](*(given | dict(zip(asked, values, strict=True))).values())
        return sum(fw.xp.sum(s * y) for s, y in zip(seeds, made, strict=False) if s is not None)

    found = dict(zip(asked, AUTODIFF[name](loss, [given[i] for i in asked]), strict=True))
    return [fw.array(found[i]) if i in found else None for i in given]


@pytest.mark.parametrize(("example", "name", "dtype"), list(grid()))
def test_autodiff_through_native_kernels_agrees_with_the_derivative(example: Example, name: str, dtype: str) -> None:
    assert gradient_faults(example, autodiff(example, name, dtype), dtype) == []


@pytest.mark.parametrize("name", AUTODIFF)
def test_a_kernel_that_loses_a_gradient_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not framework(name).available():
        pytest.skip(f"{name} is not installed")
    stop = {"jax": lambda self, jax, a, b: a * b - 0.01 * jax.lax.stop_gradient(a * b) + 0.01 * a * b,
            "tensorflow": lambda self, tf, a, b: a * b - 0.01 * a * b + 0.01 * tf.stop_gradient(a * b)}
    example = next(e for e in examples() if e.name == "Mul-0")
    monkeypatch.setattr(type(example.operator), name, stop[name])
    assert gradient_faults(example, autodiff(example, name, "float32"), "float32")
