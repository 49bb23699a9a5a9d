"""What rounding explains inside of code without a formula: terms that cancel there, and no more than that."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import deep500 as d5
from deep500.check.operators.array_checks import output_check
from deep500.check.operators.bounds import output_bounds
from deep500.check.operators.examples import Example
from deep500.check.operators.subjects import function_operator
from deep500.custom.cpp import CppOp

GELU = """
template<typename T>
struct gelu : deep500::CustomOperator {
    int64_t n;
    gelu(int64_t length) : n(length) {}
    void forward(const T *x, const T *b, const T *r, T *y) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) {
            T u = x[i] + b[i];
            T inner = T(0.7978845608028654) * (u + T(0.044715) * u * u * u);
            y[i] = r[i] + T(0.5) * u * (T(1) + std::tanh(inner));
        }
    }
};
"""


def gelu(x: Any, b: Any, r: Any, cubic: Any = 0.044715) -> Any:
    u = x + b
    inner = 0.7978845608028654 * (u + cubic * u**3)
    return r + 0.5 * u * (1 + np.tanh(inner))


@pytest.fixture(scope="module")
def inputs() -> tuple:
    """Where 1 + tanh cancels: sums from -6 to 6, and r = 0 for a half of them."""
    draw = np.random.default_rng(0)
    x, b = draw.uniform(-3, 3, (2, 64, 1024)).astype("float32")
    r = draw.uniform(-1, 1, (64, 1024)).astype("float32")
    r[::2] = 0
    return x, b, r


def example_of(operator: Any, inputs: tuple, reference: Any = None) -> Example:
    return Example("gelu", operator, inputs, reference)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> CppOp:
    source = tmp_path_factory.mktemp("source") / "gelu.cpp"
    source.write_text(GELU)
    return d5.compile_custom_cppop("gelu", source)


def float16_inside(x: Any, b: Any, r: Any) -> Any:
    u = (x + b).astype("float16").astype("float32")
    return gelu(u, 0 * b, r)


def rounded_to_bfloat16(x: Any, b: Any, r: Any) -> Any:
    y = gelu(x, b, r)
    return y.astype(ml_dtypes.bfloat16).astype("float32")


def off_where_tiny(x: Any, b: Any, r: Any) -> Any:
    """An error of one per cent in the elements that are a millionth of the largest, and do not cancel."""
    y = gelu(x, b, r)
    tiny = (np.abs(y) < 1e-3) & (np.abs(x + b) < 1e-2)
    assert tiny.any()
    return np.where(tiny, np.float32(1.01) * y, y)


def other_constant(x: Any, b: Any, r: Any) -> Any:
    return gelu(x, b, r, np.float32(0.04471))


WRONG = [float16_inside, rounded_to_bfloat16, off_where_tiny, other_constant]


@pytest.mark.parametrize("language", ["function", "C++"])
def test_cancelling_terms_are_allowed_and_errors_found(
    language: str, inputs: tuple, compiled: CppOp
) -> None:
    operator: Any = compiled.operator
    reference = None
    if language == "function":
        operator = function_operator(gelu, gelu, "reference")
        reference = gelu
    example = example_of(operator, inputs, reference)
    right = output_check(example, [gelu(*inputs)])
    assert right.ok, right.text
    right = output_check(example, compiled.run(inputs))
    assert right.ok, right.text
    for wrong in WRONG:
        check = output_check(example, [wrong(*inputs)])
        assert check.ok is False, wrong.__name__


def test_source_that_cannot_be_perturbed_is_allowed_for_by_its_inputs(
    tmp_path: Path, inputs: tuple
) -> None:
    """Without a formula and without a template over the number, terms as large as the inputs are rounded once."""
    source = tmp_path / "gelu.cpp"
    only_floats = "static_assert(std::is_floating_point_v<T>);\n    int64_t n;"
    source.write_text(GELU.replace("int64_t n;", only_floats))
    opaque = d5.compile_custom_cppop("gelu", source)
    assert not opaque.can_be_perturbed
    example = example_of(opaque.operator, inputs)
    right = output_check(example, opaque.run(inputs))
    assert right.ok, right.text
    check = output_check(example, [rounded_to_bfloat16(*inputs)])
    assert check.ok is False


@pytest.mark.parametrize("n", [1, 4096])
def test_a_sum_is_bounded_as_before(n: int, tmp_path: Path) -> None:
    source = tmp_path / "total.cpp"
    source.write_text(
        """
template<typename T>
struct total : deep500::CustomOperator {
    int64_t n;
    total(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        T sum = 0;
        #pragma omp parallel for reduction(+: sum)
        for (int64_t i = 0; i < n; ++i) sum += x[i];
        for (int64_t i = 0; i < n; ++i) y[i] = sum;
    }
};
"""
    )
    total = d5.compile_custom_cppop("total", source)
    assert total.can_be_perturbed
    x = np.ones(n, "float32") + np.float32(1e-4) * np.arange(n, dtype="float32")
    [bound] = output_bounds(example_of(total.operator, (x,)))
    eps = 2.0**-23
    assert bound.max() < 40 * n**0.5 * eps * float(x.sum())
