"""Benchmarks from Python: the twins of `d5 bench operator` and `d5 bench network`."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500.bench.operators.naming import operator_text
from deep500.bundle.records.verification import verify
from deep500.measure.bounds.peak_cache import (
    Peaks,
    file_name,
    this_machine,
    write_peaks,
)
from deep500.measure.bounds.peak_kernels import Peak
from deep500.user_files import imported

QUICK: dict[str, Any] = {"frameworks": ["reference"], "threads": 1, "budget_s": 0.3}
MINE = """
import numpy as np
import deep500 as d5


def twice(x):
    return x + x


def total(x, y):
    return x + y


def wrong(x):
    return np.float32(2.02) * x


class Twice(d5.CustomPythonOp):
    def forward(self, inputs):
        return 2 * inputs[0]
"""


SAME = """
template<typename T>
struct same : deep500::CustomOperator {
    int64_t n;
    same(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = FACTOR * x[i];
    }
};
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With peaks, so that no test measures them."""
    peak = Peak(1e15, "flop/s", "matmul", 9, 1e15, 1e15, 1e15)
    bandwidth = Peak(1e15, "byte/s", "triad", 9, 1e15, 1e15, 1e15)
    machine = this_machine(4.2)
    peaks = Peaks({"float32": peak, "float64": peak}, bandwidth, machine)
    write_peaks(tmp_path / "peaks" / file_name(machine), peaks)
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def mine(tmp_path: Path) -> Any:
    (tmp_path / "mine.py").write_text(MINE)
    return imported(tmp_path / "mine.py")


def test_rivals_from_python(mine: Any, tmp_path: Path) -> None:
    record = d5.bench_operator(
        [mine.twice, mine.Twice], "4x3", out=tmp_path / "out", **QUICK
    )
    derived = record.derived
    assert derived is not None
    names = [entry.name for entry in derived.entries]
    assert names == [
        "reference custom twice 4x3 float32 forward",
        "reference custom Twice 4x3 float32 forward",
    ]
    assert all(entry.median > 0 for entry in derived.entries)
    [comparison] = derived.comparisons
    assert comparison.verdict in ("slower", "faster", "same", "inconclusive")
    assert record.bundle == str(tmp_path / "out")
    assert not verify(tmp_path / "out").problems


def test_what_is_wrong_has_no_time(mine: Any) -> None:
    with pytest.raises(d5.Deep500Error, match="gives a wrong forward result"):
        d5.bench_operator(mine.wrong, "4x3", reference=mine.twice, **QUICK)


def test_operators_as_texts(mine: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "mine.py")
    assert operator_text("my.py:f") == "my.py:f"
    assert operator_text(mine.twice) == f"{place}:twice"
    assert operator_text(mine.Twice) == f"{place}:Twice"
    assert operator_text(d5.operators.Relu) == "Relu"
    tanh = operator_text(d5.operators.Gelu(approximate="tanh"))
    assert tanh == "Gelu(approximate='tanh')"
    assert operator_text(mine.Twice()) == f"{place}:Twice"
    source = tmp_path / "same.cpp"
    source.write_text(SAME)
    compiled = d5.compile_custom_cppop("same", source, definitions={"FACTOR": 3})
    assert operator_text(compiled) == f"{source}:same(FACTOR='3')"


def within() -> Callable:
    def inner(x: Any) -> Any:
        return x

    return inner


@pytest.mark.parametrize(
    ("operator", "more", "said"),
    [
        (within(), {}, "define it at the top of a file"),
        (lambda x: x, {}, "define it at the top of a file"),
        (math.pi, {}, "3.14159"),
        ("Gelo", {}, "Did you mean 'Gelu'?"),
        ("Relu", {"frameworks": ["torchh"]}, "torchh"),
        ("Relu", {"dtypes": ["int8"]}, "no dtype is named 'int8' here"),
        ("Relu", {"directions": ["sideways"]}, "no direction is named"),
        ("Relu", {"threads": -1}, "threads is -1"),
    ],
)
def test_wrong_input_is_said_in_one_line(operator: Any, more: dict, said: str) -> None:
    with pytest.raises(d5.Deep500Error) as caught:
        d5.bench_operator(operator, "4x3", **(QUICK | more))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_functions_are_refused_where_they_cannot_run(mine: Any) -> None:
    with pytest.raises(d5.Deep500Error, match="tensors that a plain function"):
        d5.bench_operator(
            mine.twice, "4x3", **(QUICK | {"frameworks": ["onnxruntime"]})
        )
    with pytest.raises(d5.Deep500Error, match="takes the inputs x, y, and --shape"):
        d5.bench_operator(mine.total, "4x3", **QUICK)


def test_networks_from_python(tmp_path: Path) -> None:
    options = QUICK | {"budget_s": 0.1}
    record = d5.bench_network("mlp", out=tmp_path / "out", **options)
    assert record.derived is not None
    [entry] = record.derived.entries
    assert entry.name == "reference eager (composed) inference batch=1"
    assert record.kind.name == "network_bench"
    assert not verify(tmp_path / "out").problems


def test_the_batch_of_a_network_is_checked() -> None:
    with pytest.raises(d5.Deep500Error, match="give 1 or more"):
        d5.bench_network("mlp", batches=[0], **QUICK)
