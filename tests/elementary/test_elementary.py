"""Elementary functions: one SHA-256 on every framework, in C++ and compiled, and errors within their bound."""

import os
import subprocess
import sys

import numpy as np
import pytest

import deep500 as d5
from deep500 import elementary
from deep500.bench.elementary.functions import (
    FUNCTIONS,
    bits_hash,
    draw,
    every_kind,
    ulp_errors,
)
from deep500.bench.elementary_benchmark import ElementaryBenchmark, fixed_functions
from deep500.bench.pipeline import run_benchmark
from deep500.custom.operators import as_operator
from deep500.frameworks import framework
from deep500.namespace import Namespace
from deep500.reports.terminal import terminal

FRAMEWORKS = ["pytorch", "jax", "tensorflow", "onnxruntime"]
NAMES = fixed_functions()
N = 3000


def operator(name):
    return getattr(elementary, FUNCTIONS[name].operator)()


def own_hash(name, where, n=N, op=None):
    if not framework(where).available():
        pytest.skip(f"{where} is not installed")
    points = every_kind(FUNCTIONS[name], "float32", n, 0)
    return bits_hash(framework(where), op or operator(name), points)


def test_there_are_seven():
    assert sorted(NAMES) == ["erf", "exp", "log", "pow", "rsqrt", "sigmoid", "tanh"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("where", FRAMEWORKS)
def test_every_framework_gives_the_same_bits(where, name):
    assert own_hash(name, where) == own_hash(name, "reference")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("where", FRAMEWORKS)
def test_derivatives_have_the_same_bits_too(where, name):
    if not framework(where).available():
        pytest.skip(f"{where} is not installed")
    points = every_kind(FUNCTIONS[name], "float32", 2000, 1)
    ones = [np.linspace(-1, 1, len(points[0]), dtype="float32")]
    with np.errstate(all="ignore"):
        right = d5.gradient(operator(name), points, grads=ones, framework="reference")
        mine = d5.gradient(operator(name), points, grads=ones, framework=where)
    for one, other in zip(right, mine, strict=True):
        assert one.tobytes() == np.asarray(other).tobytes()


@pytest.mark.parametrize(
    "name",
    ["exp", *(pytest.param(n, marks=pytest.mark.slow) for n in NAMES if n != "exp")],
)
def test_the_operator_in_cpp_gives_the_same_bits(name):
    op = d5.compile_elementary(name)
    points = every_kind(FUNCTIONS[name], "float32", N, 0)
    assert own_hash(name, "reference", op=as_operator(op)) == own_hash(
        name, "reference"
    )
    (y,) = op.run(points)
    dy = np.linspace(-1, 1, N, dtype="float32")
    with np.errstate(all="ignore"):
        right = d5.gradient(operator(name), points, grads=[dy], framework="reference")
    for one, other in zip(right, op.gradients([dy], points, [y]), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("where", FRAMEWORKS)
def test_the_operator_in_cpp_on_every_framework(where):
    for name in NAMES:
        op = as_operator(d5.compile_elementary(name))
        assert own_hash(name, where, op=op) == own_hash(name, "reference")


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_within_the_bound(name):
    what = FUNCTIONS[name]
    arguments = draw(what, "float32", 400, 3)
    [y] = d5.evaluate(operator(name), arguments, framework="reference")
    errors = ulp_errors(what.truth, arguments, y, "float32")
    assert errors.max() <= operator(name).bound
    # the bound is narrow: a neighbour is beyond it
    neighbour = np.nextafter(y, np.float32(np.inf))
    assert ulp_errors(what.truth, arguments, neighbour, "float32").max() > 0.9


@pytest.mark.parametrize("name", [name for name in NAMES if name != "pow"])
def test_derivatives_are_right(name):
    x = np.linspace(0.2, 3, 50, dtype="float32")
    [slope] = d5.gradient(
        operator(name), [x], grads=[np.ones_like(x)], framework="reference"
    )
    h = 1e-4
    wide = x.astype("float64")
    truth = np.vectorize(lambda z: float(FUNCTIONS[name].truth(z)))
    numeric = (truth(wide + h) - truth(wide - h)) / (2 * h)
    np.testing.assert_allclose(slope, numeric, rtol=1e-6)


INF, NAN = np.inf, np.nan
SPECIAL = {
    "exp": [
        (-INF, 0.0),
        (INF, INF),
        (NAN, NAN),
        (-0.0, 1.0),
        (-104.0, 0.0),
        (89.0, INF),
    ],
    "log": [(0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, INF), (1.0, 0.0), (NAN, NAN)],
    "tanh": [(-INF, -1.0), (INF, 1.0), (-0.0, -0.0), (1e-45, 1e-45), (-1e-40, -1e-40)],
    "erf": [(-INF, -1.0), (INF, 1.0), (-0.0, -0.0), (NAN, NAN), (4.0, 1.0)],
    "sigmoid": [(-INF, 0.0), (INF, 1.0), (0.0, 0.5), (NAN, NAN)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (-1.0, NAN), (INF, 0.0), (4.0, 0.5)],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name):
    x, right = np.array(SPECIAL[name], "float32").T.copy()
    [y] = d5.evaluate(operator(name), [x], framework="reference")
    assert y.tobytes() == right.tobytes(), (x, y, right)


def test_pow_has_the_special_values_of_c():
    numbers = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 2.0, -3.0, 0.5, 1e-45, 3e38]
    first, second = np.meshgrid(*[np.array(numbers, "float32")] * 2)
    x, y = first.ravel(), second.ravel()
    [powers] = d5.evaluate(elementary.Pow(), [x, y], framework="reference")
    with np.errstate(all="ignore"):
        right = np.power(x.astype("float64"), y.astype("float64")).astype("float32")
    np.testing.assert_array_equal(powers, right)
    signed = ~np.isnan(right)
    np.testing.assert_array_equal(np.signbit(powers[signed]), np.signbit(right[signed]))


def test_pow_broadcasts_and_sums_its_gradients():
    x = np.array([[0.5], [2.0]], "float32")
    y = np.array([1.0, 2.5, -3.0], "float32")
    [powers] = d5.evaluate(elementary.Pow(), [x, y], framework="reference")
    np.testing.assert_allclose(powers, x**y, rtol=1e-6)
    dx, dy = d5.gradient(
        elementary.Pow(), [x, y], grads=[np.ones_like(powers)], framework="reference"
    )
    np.testing.assert_allclose(dx, (y * x ** (y - 1)).sum(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(dy, (x**y * np.log(x)).sum(0), rtol=1e-6)


def test_other_floats_are_refused_in_one_line():
    with pytest.raises(d5.Unsupported, match="take float32, not float64: cast"):
        d5.evaluate(elementary.Exp(), [np.ones(3)], framework="reference")


def test_an_unknown_function_is_told_the_others():
    with pytest.raises(d5.Deep500Error, match="Sigmoid"):
        d5.compile_elementary("sigmod")


def test_one_unit_in_one_result_is_found(tmp_path, monkeypatch):
    """The planted error: one framework's narrow rounds one number of all to its neighbour."""
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    right = own_hash("exp", "reference")
    usual = Namespace.narrow

    def off_by_one(self, x):
        y = np.array(usual(self, x))
        y[N // 3] = np.nextafter(y[N // 3], np.float32(9))
        return y

    monkeypatch.setattr(Namespace, "narrow", off_by_one)
    assert own_hash("exp", "reference") != right


def test_the_benchmark_says_where_bits_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    benchmark = ElementaryBenchmark(
        ("exp", "sin"),
        ("reference", "fake"),
        n=20,
        kernels=("own", "fixed"),
        hashed=500,
    )
    record = run_benchmark(benchmark, out=tmp_path / "out")
    rows = [row for block in record.blocks for row in block.rows]
    kinds = {(row.function, row.kernel) for row in rows}
    assert kinds == {("exp", "composed"), ("exp", "fixed"), ("sin", "composed")}
    assert len({row.sha256 for row in rows if row.kernel == "fixed"}) == 1
    text = terminal(record.report())
    assert "exp in float32 (fixed), 500 numbers: the same bits on reference" in text


def test_the_report_names_those_that_differ():
    from deep500.results.elementary import FunctionError, _bits

    def row(where, sha256):
        return FunctionError(
            "", "", "float32", where, "exp", "fixed", 0, 0, 1, [], "", sha256, 9
        )

    [note] = _bits([row("a", "1"), row("b", "2"), row("c", "1")])
    assert str(note).endswith("9 numbers: 2 different results: a, c; b")


def test_functions_without_fixed_bits_are_refused_in_one_line():
    with pytest.raises(d5.Deep500Error, match="exp, log"):
        ElementaryBenchmark(("sin",), ("reference",), kernels=("fixed",)).jobs()
    with pytest.raises(d5.Deep500Error, match="no kernel"):
        ElementaryBenchmark(("exp",), ("reference",), kernels=("fixt",))


# A process of its own: its flags are read once, and those of the tests let XLA optimise nothing.
COMPILED = """
import sys
import numpy as np
from deep500 import elementary
from deep500.elementary.fixed_function import wide_and_arithmetic
from deep500.frameworks import framework
from deep500.namespace import Namespace

def differences(where, name):
    op = getattr(elementary, name)()
    def inner(xp, x):  # before it is rounded to float32, which would hide most
        wide, arithmetic = wide_and_arithmetic(xp, x)
        return op.value(arithmetic, wide)
    x = np.geomspace(1e-3, 30, 20000).astype("float32")
    fw = framework(where)
    fw.require()
    xp = fw.xp
    compiled = fw.array(fw.compile(lambda x: inner(xp, x))(fw.tensor(x)))
    right = inner(framework("reference").xp, x)
    return int((compiled.view("uint64") != right.view("uint64")).sum())

where = sys.argv[1]
print([differences(where, name) for name in ("Exp", "Erf", "Rsqrt")])
Namespace.apart = lambda self, x, zero: x
print([differences(where, name) for name in ("Exp", "Erf", "Rsqrt")])
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["jax", "tensorflow"])
def test_xla_neither_joins_nor_moves_operations(where):
    if not framework(where).available():
        pytest.skip(f"{where} is not installed")
    process = subprocess.run(
        [sys.executable, "-c", COMPILED, where],
        capture_output=True,
        text=True,
        env=os.environ | {"XLA_FLAGS": ""},
        timeout=600,
        check=True,
    )
    apart, plain = process.stdout.splitlines()
    assert apart == "[0, 0, 0]"
    # the planted error: without `apart`, XLA computes something else
    assert min(map(int, plain.strip("[]").split(","))) > 0


SMALLER = {
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "ATEN_CPU_CAPABILITY": "default",
    "OPENBLAS_CORETYPE": "NEHALEM",
    "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
}
HASHES = """
import sys
from deep500.bench.elementary.functions import FUNCTIONS, bits_hash, every_kind
from deep500.bench.elementary_benchmark import fixed_functions
from deep500.frameworks import framework
from deep500 import elementary
for name in fixed_functions():
    points = every_kind(FUNCTIONS[name], "float32", 3000, 0)
    op = getattr(elementary, FUNCTIONS[name].operator)()
    print(bits_hash(framework(sys.argv[1]), op, points))
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["reference", *FRAMEWORKS])
def test_smaller_instruction_sets_give_the_same_bits(where):
    if not framework(where).available():
        pytest.skip(f"{where} is not installed")
    process = subprocess.run(
        [sys.executable, "-c", HASHES, where],
        capture_output=True,
        text=True,
        env=os.environ | SMALLER,
        timeout=600,
        check=True,
    )
    assert process.stdout.split() == [own_hash(name, "reference") for name in NAMES]
