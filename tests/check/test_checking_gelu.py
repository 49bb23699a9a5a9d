"""GELU of every framework, whose terms cancel, is right by every kind of reference; errors in it are found by each."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import erf

import deep500 as d5
from deep500.check.operators.array_checks import output_check
from deep500.check.operators.examples import Example
from deep500.check.operators.functions import ReferenceFunction
from deep500.check.operators.subjects import function_operator

FRAMEWORKS = {"pytorch": "torch", "jax": "jax", "tensorflow": "tensorflow"}
FORMATS = ["float32", "float64"]
LARGE, SMALL = (64, 1024), (64, 64)


def in_scipy(x: Any, b: Any, r: Any) -> Any:
    u = x + b
    return 0.5 * u * (1 + erf(u / math.sqrt(2))) + r


def in_vectorized_python(x: Any, b: Any, r: Any) -> Any:
    u = x + b
    every_erf = np.vectorize(math.erf, otypes=[float])
    return 0.5 * u * (1 + every_erf(u / math.sqrt(2))) + r


def in_a_loop(x: Any, b: Any, r: Any) -> Any:
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            u = float(x[i, j]) + float(b[j])
            y[i, j] = 0.5 * u * (1 + math.erf(u / math.sqrt(2))) + float(r[i, j])
    return y


def in_plain_arrays(x: Any, b: Any, r: Any) -> Any:
    """As code does that leaves NumPy: of its arrays' class, nothing is left."""
    return in_scipy(np.asarray(x), np.asarray(b), np.asarray(r))


def in_torch(x: Any, b: Any, r: Any) -> Any:
    import torch

    x, b, r = map(torch.as_tensor, (x, b, r))
    return torch.nn.functional.gelu(x + b) + r


REFERENCES: dict[str, Callable | None] = {
    "itself": None,
    "scipy": in_scipy,
    "vectorize": in_vectorized_python,
    "plain": in_plain_arrays,
    "loop": in_a_loop,
    "torch": in_torch,
}


def gelu_of(framework: str) -> Callable[..., Any]:
    """The framework's own, in a sum."""
    module = pytest.importorskip(FRAMEWORKS[framework])
    if framework == "pytorch":
        own = module.nn.functional.gelu
    elif framework == "jax":

        def own(u: Any) -> Any:
            return module.nn.gelu(u, approximate=False)

    else:
        own = module.nn.gelu

    def gelu(x: Any, b: Any, r: Any) -> Any:
        return own(x + b) + r

    return gelu


def inputs_in(dtype: str, shape: tuple[int, int]) -> tuple:
    draw = np.random.default_rng(1)
    x, r = draw.uniform(-1.7, 1.7, (2, *shape)).astype(dtype)
    b = draw.uniform(-1.7, 1.7, shape[1]).astype(dtype)
    return x, b, r


def example_of(framework: str, reference: str, inputs: tuple) -> Example:
    function = gelu_of(framework)
    truth = REFERENCES[reference]
    if truth is not None:
        truth = ReferenceFunction(truth, reference)
    operator = function_operator(function, truth, framework)
    return Example("gelu", operator, inputs, truth)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_right_by_every_reference(framework: str, reference: str, dtype: str) -> None:
    shape = SMALL if reference == "loop" else LARGE
    inputs = inputs_in(dtype, shape)
    example = example_of(framework, reference, inputs)
    [y] = d5.evaluate(example.operator, inputs, framework=framework)
    check = output_check(example, [y])
    if reference != "itself" and takes_a_float32_root(framework, dtype):
        assert check.ok is False
        assert 1e-10 < check.value < 1e-7
    else:
        assert check.ok, check.text


def takes_a_float32_root(framework: str, dtype: str) -> bool:
    """TensorFlow's GELU divides by a square root of 2 that was rounded to float32, in float64 too."""
    return framework == "tensorflow" and dtype == "float64"


def with_another_term(y: Any, x: Any, b: Any, r: Any) -> Any:
    return y + x.dtype.type(1e-4) * x


def rounded_to_half_inside(y: Any, x: Any, b: Any, r: Any) -> Any:
    return y - r + (r.astype("float16").astype(r.dtype))


def with_a_wrong_row(y: Any, x: Any, b: Any, r: Any) -> Any:
    wrong = y.copy()
    wrong[-1] *= x.dtype.type(1.0001)
    return wrong


def with_one_wrong_element(y: Any, x: Any, b: Any, r: Any) -> Any:
    wrong = y.copy()
    wrong.flat[wrong.size // 3] += x.dtype.type(1e-5)
    return wrong


PLANTED = [
    with_another_term,
    rounded_to_half_inside,
    with_a_wrong_row,
    with_one_wrong_element,
]


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("reference", REFERENCES)
def test_errors_are_found_by_every_reference(reference: str, dtype: str) -> None:
    pytest.importorskip("torch")
    inputs = inputs_in(dtype, SMALL)
    example = example_of("pytorch", reference, inputs)
    right = in_scipy(*map(np.float64, inputs)).astype(dtype)
    assert output_check(example, [right]).ok
    for planted in PLANTED:
        check = output_check(example, [planted(right, *inputs)])
        assert check.ok is False, planted.__name__


@pytest.mark.parametrize("shape", [SMALL, LARGE])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_another_constant_is_found_by_a_function_of_tensors(
    framework: str, shape: tuple[int, int]
) -> None:
    """What its own evaluation in float32 is off by is allowed, and less than 5 digits of a constant."""
    module = pytest.importorskip(FRAMEWORKS[framework])

    def tanh_gelu(
        x: Any, b: Any, r: Any, cubic: Any = 0.044715, tanh: Any = None
    ) -> Any:
        u = x + b
        inner = 0.7978845608028654 * (u + cubic * u**3)
        return r + 0.5 * u * (1 + (tanh or module.tanh)(inner))

    if framework == "jax":
        module = module.numpy
    x, b, r = [np.float32(1.7) * x for x in inputs_in("float32", shape)]
    operator = function_operator(tanh_gelu, None, framework)
    example = Example("gelu", operator, (x, b, r), None)
    right = output_check(example, [tanh_gelu(x, b, r, tanh=np.tanh)])
    assert right.ok, right.text
    wrong = tanh_gelu(x, b, r, cubic=np.float32(0.04471), tanh=np.tanh)
    assert output_check(example, [wrong]).ok is False
