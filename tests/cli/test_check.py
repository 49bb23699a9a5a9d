"""`d5 check operator`: verdicts, pictures and one-line errors, as a user sees them."""

import pytest

from deep500.cli import main
from deep500.frameworks import framework

CODE = """
import ctypes
import numpy as np

def slow_relu(x): return np.where(x > 0, x, 0)
def fast_relu(x): return np.maximum(x, 0)
def leaky(x): return np.maximum(x, 0.01 * x)
def crash(x): ctypes.string_at(0)
def endless(x):
    while True: pass
def leave(x): raise SystemExit(3)
def fails(x): raise ValueError("no such thing")
"""
OPERATOR = """
from deep500 import CustomPythonOp

class IPowOp(CustomPythonOp):
    def __init__(self, power=3):
        super().__init__()
        self.power = power
    def forward(self, inputs):
        return inputs[0] ** self.power
    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * self.power * fwd_inputs[0] ** (self.power - 1)

class Forgetful(IPowOp):
    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * fwd_inputs[0] ** (self.power - 1)

class WrongShape(IPowOp):
    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0].sum()
"""


@pytest.fixture
def check(d5, tmp_path):
    (tmp_path / "my.py").write_text(CODE)
    (tmp_path / "my_op.py").write_text(OPERATOR)
    return lambda *args: d5("check", "operator", *args)


def wrong(answer):
    return {
        c["name"]
        for r in answer.json["reports"]
        for c in r["checks"]
        if c["verdict"] == "wrong"
    }


def test_a_built_in_operator_with_all_its_cases(check):
    options = ["Softmax", "--framework", "reference", "pytorch", "--dtype", "float32"]
    answer = check(*options)
    assert answer.code == 0, answer.err
    assert (
        "- reference (composed): ok" in answer.out
        and "- pytorch (native): ok" in answer.out
    )
    assert "The worst of" not in answer.out
    whole = check(*options, "--verbose")
    assert "The worst of 5 cases" in whole.out and "autodiff" in whole.out
    assert "Tried as well: scaled by 0.001" in whole.out


def test_attributes_shapes_and_json(check):
    answer = check(
        "LeakyRelu",
        "--set",
        "alpha=0.3",
        "--shape",
        "3x4",
        "2x5x1",
        "--framework",
        "reference",
        "--json",
    )
    assert answer.code == 0 and answer.json["ok"]
    [report] = answer.json["reports"]
    assert {c["case"] for c in report["checks"]} == {"LeakyRelu-0", "LeakyRelu-1"}
    assert all(
        {"name", "ok", "value", "bound", "text", "dtype"} <= set(c)
        for c in report["checks"]
    )


def test_a_function_against_a_reference_with_pictures(check, tmp_path):
    options = ["--reference", "my.py:slow_relu", "--framework", "reference"]
    assert check("my.py:fast_relu", *options).code == 0
    answer = check(
        "my.py:leaky",
        *options,
        "--heatmap",
        tmp_path / "h.svg",
        "--variance",
        tmp_path / "v.png",
    )
    assert answer.code == 1
    assert (
        "got -0.0" in answer.out
        and "want 0" in answer.out
        and "12 of 24 elements are wrong" in answer.out
    )
    assert (tmp_path / "h.svg").read_text().startswith("<svg") and (
        tmp_path / "v.png"
    ).stat().st_size > 1000
    answer = check("my.py:crash", *options, "--heatmap", tmp_path / "none.svg")
    assert (
        answer.code == 1
        and "no picture: no run gave" in answer.out
        and not (tmp_path / "none.svg").exists()
    )


def test_operators_of_a_user(check):
    assert (
        check("my_op.py:IPowOp", "--set", "power=4", "--framework", "reference").code
        == 0
    )
    answer = check("my_op.py:Forgetful", "--framework", "reference", "--json")
    assert answer.code == 1 and wrong(answer) == {"differences"}
    answer = check("my_op.py:WrongShape", "--framework", "reference")
    assert answer.code == 1 and "gradient of the shape ()" in answer.out


@pytest.mark.parametrize(
    ("name", "seconds", "code", "said"),
    [
        ("crash", 60, 1, "SIGSEGV"),
        ("endless", 6, 3, "not decided within --timeout 6 s"),
        ("leave", 60, 1, "called exit(3)"),
        ("fails", 60, 1, "no such thing"),
    ],
)
def test_code_that_breaks_is_a_verdict(check, name, seconds, code, said):
    answer = check(
        f"my.py:{name}",
        "--reference",
        "my.py:slow_relu",
        "--framework",
        "reference",
        "--timeout",
        seconds,
    )
    assert (
        answer.code == code
        and said in answer.out
        and "Traceback" not in answer.out + answer.err
    )


def test_a_framework_that_is_not_installed_is_one_line(capsys, monkeypatch):
    monkeypatch.setattr(type(framework("fake")), "module_name", "no_such_module")
    # found by a test before
    monkeypatch.delitem(vars(framework("fake")), "module", raising=False)
    assert main(["check", "operator", "Relu", "--framework", "reference", "fake"]) == 2
    answer = capsys.readouterr()
    assert (
        answer.err.startswith("d5: fake is not installed: pip install")
        and not answer.out
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["Sofmax"], "Did you mean 'Softmax'"),
        (["Relu", "--framework", "torch"], "Did you mean 'pytorch'"),
        (["LeakyRelu", "--set", "alpa=3"], "Did you mean 'alpha'"),
        (["MatMul", "--shape", "3x4,5x6"], "does not take"),
        (["Relu", "--shape", "3xx4"], "is no shape"),
        (
            ["my.py:fast_rel", "--reference", "my.py:slow_relu"],
            "Did you mean 'fast_relu'",
        ),
        (
            ["my.py:fast_relu", "--reference", "your.py:slow_relu"],
            "there is no file or module",
        ),
        (["Relu", "--heatmap", "picture.pdf"], "an .svg or a .png"),
        (["Relu", "--timeout", "0"], "leaves no time"),
        (["Relu", "--set", "alpha"], "not of the form"),
    ],
)
def test_bad_requests_are_one_line_and_exit_2(check, args, said):
    answer = check(*args)
    assert answer.code == 2 and said in answer.err
    assert len(answer.err.strip().splitlines()) == 1 and not answer.out
