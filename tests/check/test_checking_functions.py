"""Plain functions as operators and references: judged in their own dtype, and faults are said of whose they are."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from deep500.cli import main

CODE = """
import deep500 as d5
import numpy as np
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        [x] = ctx.saved_tensors
        return 2 * x * gradient


class WrongInFloat32(Square):
    @staticmethod
    def backward(ctx, gradient):
        [x] = ctx.saved_tensors
        factor = 2.01 if x.dtype == torch.float32 else 2.0
        return factor * x * gradient


def good(x):
    return Square.apply(x)


def bad(x):
    return WrongInFloat32.apply(x)


def detached(x, b):
    return torch.tanh(x + b.detach())


def attached(x, b):
    return torch.tanh(x + b)


def narrow(x):
    assert x.dtype == torch.float32, "float32 alone"
    return Square.apply(x)


def bad_narrow(x):
    assert x.dtype == torch.float32, "float32 alone"
    return WrongInFloat32.apply(x)


def slow(x):
    return x**2


def slow_torch(x):
    return torch.mul(x, x)


def slow_jax(x):
    import jax.numpy as jnp

    return jnp.square(x)


def branching(x):
    return x * x if x.sum() < 1e9 else x


def overwriting(x):
    y = x * x
    y[0] = y[0]
    return y


def listed(x):
    squares = [float(number) ** 2 for row in x for number in row]
    return np.array(squares, x.dtype).reshape(x.shape)


def masked(x):
    y = np.asarray(x) ** 2
    return y[y == y].reshape(x.shape)


def nothing(x):
    return None


def fails(x):
    raise ValueError("no such thing")


def needs_two(x, y):
    return x + y


class Broken(d5.CustomPythonOp):
    def __init__(self):
        raise RuntimeError("not today")


class Wide(d5.CustomPythonOp):
    def forward(self, inputs):
        return np.asarray(inputs[0], "float64") ** 2

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.asarray(2 * grads[0] * fwd_inputs[0], fwd_inputs[0].dtype)


def wide(x):
    return np.asarray(x, "float64") ** 2


class Narrow(d5.CustomPythonOp):
    factor = 1.0

    def forward(self, inputs):
        assert inputs[0].dtype == np.float32, "float32 alone"
        return inputs[0] ** 2

    def backward(self, grads, fwd_inputs, fwd_outputs):
        assert grads[0].dtype == np.float32, "float32 alone"
        return np.float32(2 * self.factor) * grads[0] * fwd_inputs[0]


class NoResult(d5.CustomPythonOp):
    def forward(self, inputs):
        return None


class BadNarrow(Narrow):
    factor = 1.01


class OfARow(d5.CustomPythonOp):
    def forward(self, inputs):
        return inputs[0] * 1

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0].sum(0)
"""
OK, WRONG, BAD_INPUT, UNDECIDED = 0, 1, 2, 3


@pytest.fixture
def check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "fn.py").write_text(CODE)
    (tmp_path / "leaves.py").write_text("import sys\n\nsys.exit(3)\n")
    (tmp_path / "typo.py").write_text("def f(x):\n    return x +\n")
    monkeypatch.chdir(tmp_path)

    def check(*words: str) -> tuple[int, str]:
        count = len([*tmp_path.glob("out*")])
        out = str(tmp_path / f"out{count}")
        code = main(["check", "operator", *words, "--out", out])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err
        return code, printed.out + printed.err

    return check


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("good", OK, "its own code in float64"),
        ("bad", WRONG, "gradient, float32"),
        ("narrow --reference fn.py:slow", OK, "does not take float64"),
        ("bad_narrow --reference fn.py:slow", WRONG, "gradient, float32"),
        ("good --reference fn.py:slow_torch", OK, "ok"),
        ("slow --framework reference", OK, "its own code in float64"),
        (
            "good --reference fn.py:nothing",
            BAD_INPUT,
            "the reference fn.py:nothing returned NoneType",
        ),
        (
            "good --reference fn.py:fails",
            BAD_INPUT,
            "raised ValueError: no such thing, in fails (fn.py, line",
        ),
        (
            "good --reference fn.py:needs_two",
            BAD_INPUT,
            "it received the NumPy arrays float64[8, 6]",
        ),
        (
            "Wide --framework reference --reference fn.py:slow",
            WRONG,
            "the first: dtype",
        ),
        ("NoResult", BAD_INPUT, "NoResult.forward returned None: return an array"),
        ("Narrow", BAD_INPUT, "takes float32 and no float64"),
        ("Narrow --reference fn.py:slow", OK, "does not take float64"),
        ("BadNarrow --reference fn.py:slow", WRONG, "gradient, float32"),
        ("Wide --framework reference --reference fn.py:wide", OK, "ok"),
        ("slow --framework onnxruntime", BAD_INPUT, "plain function"),
        ("nothing", BAD_INPUT, "nothing returns a NoneType"),
        ("needs_two", BAD_INPUT, "takes the inputs x, y, and --shape describes 1"),
        ("slow_torch --framework reference", BAD_INPUT, "or the framework that it is"),
        ("goood", BAD_INPUT, "Did you mean 'good'?"),
        (
            "Broken",
            BAD_INPUT,
            "RuntimeError: not today, in Broken.__init__ (fn.py, line",
        ),
        ("good --set a=1", BAD_INPUT, "is a function and has no attributes"),
    ],
)
def test_verdicts(check, words: str, code: int, said: str) -> None:
    name, *options = words.split()
    got, printed = check(f"fn.py:{name}", "--shape", "8x6", *options)
    flat = " ".join(printed.replace("|", " ").split())
    assert got == code, printed
    assert said in printed or said in flat, printed
    if code == BAD_INPUT:
        assert printed.count("d5: ") == 1, printed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["overwriting", "branching", "listed", "masked"])
def test_what_jax_cannot_trace_is_unavailable_there(check, name: str) -> None:
    """The function is right, and JAX cannot run it: that is no verdict, also beside a reference."""
    pytest.importorskip("jax")
    words = ["--shape", "4x6", "--framework", "jax", "--dtype", "float32"]
    code, printed = check(f"fn.py:{name}", *words, "--reference", "fn.py:slow")
    assert code == UNDECIDED, printed
    assert "jax cannot compute" in printed and "wrong" not in printed


def test_a_gradient_that_a_function_leaves_out_is_found(check) -> None:
    words = ["--shape", "4x6,6", "--dtype", "float32", "--framework", "pytorch"]
    assert check("fn.py:attached", *words)[0] == 0
    code, said = check("fn.py:detached", *words)
    assert code == 1
    assert "the derivative by b is" in said


def test_a_file_that_leaves_or_does_not_parse_is_no_verdict(check) -> None:
    code, printed = check("leaves.py:f")
    assert code == BAD_INPUT and "(leaves.py, line 3)" in printed
    code, printed = check("typo.py:f")
    assert code == BAD_INPUT and "typo.py" in printed and "line 2" in printed


def test_guessed_inputs_are_said(check) -> None:
    # also for inputs without axes, which NumPy likes to make its own scalars
    code, printed = check("fn.py:attached")
    assert code == OK and "guessed as 4x6 each" in " ".join(
        printed.replace("|", " ").split()
    )
    code, printed = check("fn.py:OfARow", "--framework", "reference")
    flat = " ".join(printed.split())
    assert code == WRONG and "guessed as 4x6 each: give --shape" in flat
    code, printed = check("fn.py:good", "--shape", "4x6")
    assert "guessed as" not in printed


def test_shapes_can_be_imported_first() -> None:
    import subprocess
    import sys

    subprocess.run(
        [sys.executable, "-c", "import deep500.check.operators.shape_text"], check=True
    )
