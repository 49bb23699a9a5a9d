"""Harder inputs, declared domains, the words of a verdict, and the names that an operator gives its own inputs."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.check.operators import check_operator
from deep500.check.operators.array_checks import check_outputs
from deep500.check.operators.derivatives import difference_check
from deep500.check.operators.examples import Domain, Example
from deep500.check.report import Reports
from deep500.check.wire import (
    ArrayFile,
    Malformed,
    decoded,
    encoded,
)
from deep500.contracts.operator import TensorSpec
from deep500.errors import Deep500Error

FAST: dict[str, Any] = {"framework": "reference", "dtypes": ["float32"]}


def regimes(report: Reports, verdict: str) -> set[str]:
    return {
        c.regime for c in report.checks if c.name == "forward" and c.verdict == verdict
    }


def test_opposite_errors_of_a_gradient_do_not_cancel() -> None:
    x = np.linspace(-1.5, 1.5, 24).reshape(4, 6)
    example = Example("Tanh-0", d5.operators.Tanh(), (x,))
    [right] = example.gradients
    assert difference_check(example, [right]).ok
    spoilt = right.copy()
    spoilt[0, 0] += 1000
    spoilt[0, 1] -= 1000
    assert difference_check(example, [spoilt]).ok is False


def test_inputs_outside_of_a_domain_are_not_tried() -> None:
    def log(x):
        return np.where(x > 0, np.log(np.abs(x)), -7.0)

    everywhere = check_operator(log, reference=np.log, **FAST)
    assert not everywhere.ok
    within = check_operator(log, reference=np.log, domain=(0.1, 50.0), **FAST)
    assert within.ok, within.wrong
    outside = [c for c in within.checks if "outside of its domain [0.1, 50]" in c.text]
    assert {"shifted by -1000", "zeros", "infinity", "NaN"} <= {
        c.regime for c in outside
    }
    assert {"sorted", "odd sizes", "rank 3"} <= regimes(within, "ok")


def test_a_class_declares_its_domain() -> None:
    class Root(d5.CustomPythonOp):
        domain = (0.0, np.inf)

        def forward(self, inputs: Any) -> Any:
            assert (inputs[0] >= 0).all()
            return np.sqrt(inputs[0])

    report = check_operator(Root(), reference=np.sqrt, **FAST)
    assert report.ok and {"scaled by 1000", "shifted by 1000", "infinity"} <= regimes(
        report, "ok"
    )
    assert "shifted by -1000" in regimes(report, "not applicable")


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, -2.0), (0.0,), "ab", (0.0, "x")])
def test_a_domain_that_is_none_is_refused(ends: Any) -> None:
    with pytest.raises(Deep500Error, match="domain"):
        check_operator(np.tanh, reference=np.tanh, domain=ends, **FAST)


def test_given_inputs_must_lie_in_the_domain() -> None:
    with pytest.raises(Deep500Error, match=r"outside of its domain \[0, 1\]"):
        check_operator(
            np.sqrt,
            reference=np.sqrt,
            inputs=[np.array([2.0])],
            domain=(0.0, 1.0),
            **FAST,
        )


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 10.0), (-3.0, np.inf), (-np.inf, 2.0), (-np.inf, np.inf)]
)
def test_drawn_numbers_are_moved_into_the_domain(low: float, high: float) -> None:
    drawn = np.linspace(-1.73, 1.73, 24).astype("float32")
    moved = Domain(low, high).moved(drawn)
    assert Domain(low, high).holds([moved]) and len(np.unique(moved)) > 11


def test_what_a_regime_finds() -> None:
    def clipped(x):
        return np.clip(x, -5, 5)

    report = check_operator(clipped, reference=lambda x: +x, **FAST)
    assert "" in regimes(report, "ok")  # the inputs themselves are all within
    assert {"scaled by 16", "shifted by 1000", "infinity"} <= regimes(report, "wrong")


def test_what_is_refused_loudly_is_not_wrong() -> None:
    def even(x):
        if len(x) % 2:
            raise ValueError("an even number of rows, please")
        return 2 * x

    report = check_operator(even, reference=lambda x: 2 * x, **FAST)
    assert report.ok, report.wrong
    refused = [
        c for c in report.checks if c.regime == "odd sizes" and c.name == "forward"
    ]
    assert refused[0].text.startswith("refused: ")
    assert refused[0].text.endswith("an even number of rows, please")


def test_a_nan_may_spread_and_may_not_be_lost() -> None:
    spread = check_operator(
        lambda x: x + 0 * np.sum(x), reference=lambda x: +x, domain=None, **FAST
    )
    assert "NaN" in regimes(spread, "ok")
    lost = check_operator(np.nan_to_num, reference=lambda x: +x, **FAST)
    assert "NaN" in regimes(lost, "wrong")


def test_a_bound_wider_than_the_values_is_no_verdict() -> None:
    x = np.array([1e8, -1e8, 1.0], "float32")
    check = check_outputs(d5.operators.ReduceSum(keepdims=0), [x], [np.float32(1.0)])
    assert (
        check.ok is None
        and check.verdict == "not decided"
        and "unbounded" in check.text
    )
    far = check_outputs(d5.operators.ReduceSum(keepdims=0), [x], [np.float32(1e6)])
    assert far.ok is False


def test_inputs_are_called_as_the_operator_calls_them() -> None:
    def shifted(x, bias):
        return x + bias

    report = check_operator(
        lambda x, bias: x - bias, reference=shifted, inputs=[(3, 4), (3, 4)], **FAST
    )
    assert not report.ok

    class Shift(d5.CustomPythonOp):
        num_inputs = 2

        def forward(self, inputs: Any) -> Any:
            x, bias = inputs
            return x + bias

        def backward(self, grads: Any, fwd_inputs: Any, fwd_outputs: Any) -> Any:
            return grads[0], 2 * grads[0]

    wrong = check_operator(Shift(), framework="reference", dtypes=["float64"]).wrong
    assert any("the derivative by bias is" in check.text for check in wrong)


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        2.5,
        "text",
        (1, [2.0, None]),
        TensorSpec((2, 3), "int64"),
        np.arange(6, dtype="int8").reshape(2, 3),
        np.zeros((0, 4), "float32"),
        np.float32(1.5),
        np.array([["a", "b"]], object),
        {"name": (np.eye(2), ())},
    ],
    ids=repr,
)
def test_values_go_through_json(value: Any) -> None:
    again = decoded(json.loads(json.dumps(encoded(value))))
    assert repr(again) == repr(value) and type(again) is type(value)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "bool"])
def test_large_arrays_go_through_a_file(dtype: str) -> None:
    x = np.arange(60_000).reshape(600, 100).astype(dtype)
    values = (x.T, np.float32(1.5), [x[::2, ::3]])
    with closing(ArrayFile.new()) as file:
        message = json.loads(json.dumps(encoded(values, file=file)))
        assert len(json.dumps(message)) < 500
        again = decoded(message, file=file)
    np.testing.assert_array_equal(again[0], x.T)
    np.testing.assert_array_equal(again[2][0], x[::2, ::3])
    assert again[0].dtype == x.dtype and again[0].flags.writeable


@pytest.mark.parametrize(
    "content",
    [
        ["float32", [2000], -8],
        ["float32", [2000], 1],
        ["float32", [2001], 0],
        ["float32", [10**9, 10**9], 0],
        ["float32", [2**27], 2**30],
        ["object", [1000], 0],
        ["float32", [2000], "0"],
    ],
    ids=repr,
)
def test_what_is_no_array_of_a_file_is_refused(content: Any) -> None:
    with closing(ArrayFile.new()) as file:
        file.write(np.zeros(2000, "float32"))
        with pytest.raises(Malformed):
            decoded({"stored": content}, file=file)
    with pytest.raises(Malformed):
        decoded({"stored": ["float32", [0], 0]})


@pytest.mark.parametrize(
    "message",
    [
        [],
        {},
        {"result": []},
        {"array": []},
        {"array": ["float32", [2], ""]},
        {"array": ["float32", [-1], ""]},
        {"array": ["float32", [10**9, 10**9], "AAAA"]},
        {"array": ["object", [1], "AAAAAAAA"]},
        {"array": ["float32", [1], "!!!!"]},
        {"array": ["float32", [True], "AAAAAA=="]},
        {"tensor": [[1], "pickle"]},
        {"operator": 0},
        {"tuple": {"a": 1}},
        {"texts": [[3], ["a"]]},
        {"array": ["float32", [0], ""], "more": 1},
    ],
    ids=repr,
)
def test_what_is_no_value_is_refused(message: Any) -> None:
    with pytest.raises(Malformed):
        decoded(message)


# -- the command


CODE = """
import json, os, sys, time
import numpy as np
import deep500 as d5

FORGED = [{"result": []}, {"answer": {"value": {"list": []}}}, {"answer": []}, {"answer": {"value": {"tuple": []}}}]


class Honest(d5.CustomPythonOp):
    def forward(self, inputs):
        return inputs[0] ** 2


class WritesItsReply(Honest):
    def forward(self, inputs):
        for message in FORGED:
            for descriptor in range(3, 40):
                try:
                    os.write(descriptor, json.dumps(message).encode() + b"\\n")
                except OSError:
                    pass
        return inputs[0] * 0


class LeavesEarly(Honest):
    def forward(self, inputs):
        os._exit(0)


class NeverEnds(Honest):
    def forward(self, inputs):
        if inputs[0].ndim and not np.all(inputs[0] == 1):
            time.sleep(1000)
        return inputs[0] ** 2


def square(x):
    return x**2
"""


def d5_check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "ops.py").write_text(CODE)
    return subprocess.run(
        [sys.executable, "-m", "deep500.cli", "check", "operator", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"DEEP500_HOME": str(folder / "home")},
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("Honest", 0, "reference ok"),
        ("WritesItsReply", 1, "reference wrong"),
        pytest.param(
            "LeavesEarly", 1, "ended with exit code 0", marks=pytest.mark.slow
        ),
    ],
)
def test_code_that_writes_its_own_reply_is_wrong(
    tmp_path: Path, name: str, code: int, said: str
) -> None:
    words = [
        "--framework",
        "reference",
        "--dtype",
        "float32",
        "--reference",
        "ops.py:square",
    ]
    done = d5_check(tmp_path, f"ops.py:{name}", *words)
    assert (
        done.returncode == code
        and said in done.stdout
        and "Traceback" not in done.stderr
    )


def test_no_answer_is_not_decided(tmp_path: Path) -> None:
    words = ["--framework", "reference", "--dtype", "float32", "--timeout", "8"]
    done = d5_check(
        tmp_path, "ops.py:NeverEnds", "--reference", "ops.py:square", *words
    )
    assert done.returncode == 3, done.stdout
    assert "not decided within --timeout 8 s" in done.stdout


def test_a_random_seed_is_said(tmp_path: Path) -> None:
    words = [
        "--framework",
        "reference",
        "--dtype",
        "float32",
        "--seed",
        "random",
        "--json",
    ]
    done = d5_check(tmp_path, "Relu", *words)
    assert done.returncode == 0
    bundle = Path(json.loads(done.stdout)["bundle"])
    assert json.loads((bundle / "plan.json").read_text())["seed"] > 0


def test_python_on_jax_with_one_thread_ends(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    code = (
        "import numpy as np, deep500 as d5\n"
        "from ops import Honest\n"
        "jax = d5.framework('jax')\n"
        "jax.set_threads(1)\n"
        "for n in (10, 100_000, 11) * 3:\n"
        "    x = np.linspace(-1, 1, n).astype('float32')\n"
        "    assert np.allclose(jax.evaluate(Honest().operator, [x])[0], x**2)\n"
    )
    (tmp_path / "ops.py").write_text(CODE)
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr


def padded_sum(x):
    """Each element, and zero times its neighbours; beyond the ends are zeros."""
    around = np.pad(x, ((0, 0), (1, 1)))
    return 0 * around[:, :-2] + x + 0 * around[:, 2:]


def skipping(x):
    return x + 0.0


def dropping(x):
    return np.where(np.isfinite(x), x, 1)


@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        (skipping, set()),
        (dropping, {"infinity", "minus infinity", "a row of minus infinity", "NaN"}),
    ],
)
def test_what_meets_only_zeros_may_be_skipped(function, wrong):
    report = d5.check_operator(
        function,
        reference=padded_sum,
        inputs=[(3, 5)],
        framework="reference",
        dtypes="float32",
    )
    assert regimes(report, "wrong") == wrong, report.text
