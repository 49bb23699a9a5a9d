"""ULP errors: right results have at most a half, planted errors are seen, and the table says what it is."""

import math

import mpmath
import numpy as np
import pytest

from deep500.bench import trials
from deep500.bench.elementary.functions import (
    DTYPES,
    FUNCTIONS,
    draw,
    exactness,
    special_faults,
    ulp_errors,
)
from deep500.bench.elementary_benchmark import ElementaryBenchmark
from deep500.bench.pipeline import run_benchmark
from deep500.errors import Deep500Error
from deep500.reports.terminal import terminal
from deep500.supervision.isolation import Died


def rounded(what, arguments, dtype):
    """The truth, correctly rounded (through float64, which is exact enough for float32)."""
    with mpmath.workdps(50):
        values = [
            float(what.truth(*map(mpmath.mpf, xs)))
            for xs in zip(*(a.tolist() for a in arguments), strict=True)
        ]
    return np.array(values).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_correctly_rounded_result_is_half_a_unit_off_at_most(name, dtype):
    what = FUNCTIONS[name]
    arguments = draw(what, dtype, 50, 0)
    right = rounded(what, arguments, dtype)
    assert np.isfinite(right).all()
    assert ulp_errors(what.truth, arguments, right, dtype).max() <= 0.5000001
    next_one = np.nextafter(right, np.array(np.inf, dtype))
    assert 0.5 <= ulp_errors(what.truth, arguments, next_one, dtype).max() <= 2.51
    low, high = what.bounds(dtype)
    assert (arguments[0].astype("float64") >= low * (1 - 1e-6 * np.sign(low))).all()
    assert (arguments[0].astype("float64") <= high * (1 + 1e-6)).all()


def test_a_planted_error_is_seen_where_it_is():
    what = FUNCTIONS["exp"]
    arguments = draw(what, "float32", 50, 0)
    got = rounded(what, arguments, "float32")
    got[17] *= np.float32(1 + 100 * 2.0**-23)
    errors = ulp_errors(what.truth, arguments, got, "float32")
    assert np.argmax(errors) == 17 and 50 < errors[17] < 201
    got[3] = np.nan
    assert math.isinf(ulp_errors(what.truth, arguments, got, "float32")[3])


def test_special_points():
    with np.errstate(all="ignore"):
        assert special_faults(FUNCTIONS["exp"], np.exp, "float64") == []
        assert special_faults(FUNCTIONS["log"], np.log, "float64") == []
        assert special_faults(FUNCTIONS["sqrt"], np.sqrt, "float32") == []
        [fault] = special_faults(
            FUNCTIONS["tanh"],
            lambda x: np.where(np.isneginf(x), 1, np.tanh(x)),
            "float64",
        )
    assert fault == "-inf gives 1, right is -1"


def test_numpy_is_measured_and_the_table_is_honest(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    functions, dtypes = ("exp", "pow"), ("float32", "float64")
    benchmark = ElementaryBenchmark(functions, ("reference",), dtypes, 100, 1)
    record = run_benchmark(benchmark, out=tmp_path / "out")
    [block] = record.blocks
    rows = block.rows
    assert [(r.function, r.dtype, r.n) for r in rows] == [
        ("exp", "float32", 103),
        ("exp", "float64", 103),
        ("pow", "float32", 103),
        ("pow", "float64", 103),
    ]
    assert all(0 < r.mean < r.largest < 4 and r.at for r in rows)
    text = terminal(record.report())
    assert "a lower bound" in text and "[-87, 88]" in text and "composed" in text


def test_what_a_framework_lacks_is_a_row_with_the_reason():
    row = exactness("exp", "fake", "float32", 10, 0)
    assert row.unsupported == ""
    assert row.n == 13


def test_a_framework_that_dies_leaves_rows_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))

    def died(function, calls, timeout_s):
        return [Died("the process ended")] * len(calls)

    monkeypatch.setattr(trials, "isolated_each", died)
    record = run_benchmark(ElementaryBenchmark(("exp", "pow"), ("reference",)))
    rows = record.blocks[0].rows
    assert [row.unsupported for row in rows] == ["the process ended"] * 2
    assert [row.n for row in rows] == [0, 0]


@pytest.mark.parametrize(
    ("functions", "dtypes", "n", "text"),
    [
        (("exq",), ("float32",), 9, "Did you mean 'exp'"),
        (("exp",), ("float16",), 9, "no dtype"),
        (("exp",), ("float32",), 0, "n = 0"),
    ],
)
def test_bad_input_is_one_line(functions, dtypes, n, text):
    with pytest.raises(Deep500Error, match=text):
        ElementaryBenchmark(functions, ("reference",), dtypes, n)
