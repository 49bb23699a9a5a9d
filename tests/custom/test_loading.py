"""From text to operators: built-in, Python files, C++ files; every mistake is one line."""

from pathlib import Path

import numpy as np
import pytest

import deep500 as d5
from deep500.custom.loading import load_operator
from deep500.errors import Deep500Error

CODE = """
import deep500 as d5

class Scale(d5.CustomPythonOp):
    def __init__(self, by=2.0):
        super().__init__()
        if by == 0:
            raise ValueError("by must not be 0")
        self.by = by
    def forward(self, inputs):
        return inputs[0] * self.by

class Forgetful(d5.CustomPythonOp):
    def __init__(self):
        pass
"""
X = np.ones((2, 3), "float32")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_op.py"
    path.write_text(CODE)
    return path


def test_every_form(file: Path, sources: Path) -> None:
    assert load_operator("LeakyRelu", {"alpha": 0.3}) == d5.operators.LeakyRelu(
        alpha=0.3
    )
    scale = load_operator(f"{file}:Scale", {"by": 3.0})
    np.testing.assert_array_equal(d5.evaluate(scale, [X])[0], 3 * X)
    assert (
        type(scale).__name__ == "Scale"
        and scale.settings == {"by": 3.0}
        and not scale.differentiable
    )
    power = load_operator(f"{sources / 'ipowop.cpp'}:ipowop", {"DPOWER": 2})
    np.testing.assert_array_equal(d5.evaluate(power, [2 * X])[0], 4 * X)
    np.testing.assert_array_equal(
        d5.evaluate(power, [2 * X.astype("float64")])[0], 4 * X
    )
    assert (
        power.differentiable
        and power.settings == {"DPOWER": "2"}
        and power.infer(*power.op.kinds([X]))  # type: ignore[attr-defined]
    )


@pytest.mark.parametrize(
    ("text", "attributes", "said"),
    [
        ("Relo", {}, "Did you mean 'Relu'"),
        (
            "LeakyRelu",
            {"alhpa": 1},
            r"no attribute of LeakyRelu is named 'alhpa'. Did you mean 'alpha'\? Known: alpha",
        ),
        (
            "{}:Scala",
            {},
            r"my_op.py is named 'Scala'. Did you mean 'Scale'\? Known: Scale, Forgetful",
        ),
        (
            "{}:Scale",
            {"bye": 1},
            r"no attribute of Scale is named 'bye'. Did you mean 'by'\?",
        ),
        (
            "{}:Scale",
            {"by": 0},
            r"Scale\(by=0\) cannot be made: ValueError: by must not be 0, in Scale.__init__ \(my_op.py, line 8\)",
        ),
        (
            "{}",
            {},
            "is a file: name the operator in it as well, as in .*my_op.py:my_op",
        ),
        ("no_file.py:A", {}, "there is no file no_file.py"),
        ("/etc/hostname:A", {}, "neither Python"),
    ],
)
def test_mistakes_are_one_line(
    file: Path, text: str, attributes: dict, said: str
) -> None:
    with pytest.raises(Deep500Error, match=said) as caught:
        load_operator(text.format(file), attributes)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module"),
        ("def f(:", "SyntaxError: invalid syntax"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_that_does_not_run(tmp_path: Path, code: str, said: str) -> None:
    (tmp_path / "bad.py").write_text(code)
    with pytest.raises(Deep500Error, match=f"bad.py cannot be imported: {said}"):
        load_operator(f"{tmp_path / 'bad.py'}:A")


def test_python_operators_say_what_is_wrong(file: Path) -> None:
    with pytest.raises(
        Deep500Error, match=r"Forgetful.__init__ does not call super\(\).__init__\(\)"
    ):
        load_operator(f"{file}:Forgetful")

    class Two(d5.CustomPythonOp):
        def forward(self, inputs):
            return inputs[0], inputs[0]

        def backward(self, grads, fwd_inputs, fwd_outputs):
            return grads[0], grads[0]

    with pytest.raises(
        Deep500Error, match="Two.forward returned 2 outputs, and num_outputs is 1"
    ):
        d5.evaluate(Two(), [X])
    with pytest.raises(
        Deep500Error, match="Two takes any.*, and float32.*, float32.* came"
    ):
        d5.evaluate(Two(), [X, X])
    with pytest.raises(
        Deep500Error, match="Two.backward returned 2 gradients, and there are 1 inputs"
    ):
        Two().gradients([X], [X], [X])


def test_outputs_never_share_memory_with_inputs() -> None:
    class View(d5.CustomPythonOp):
        def forward(self, inputs):
            return inputs[0][::-1]

    class Same(d5.CustomPythonOp):
        def forward(self, inputs):
            return inputs[0]

    for op in (View(), Same()):
        assert not np.shares_memory(op.run([X])[0], X)


def test_unpacked_inputs_say_how_many_there_are() -> None:
    class Biased(d5.CustomPythonOp):
        def forward(self, inputs):
            x, bias = inputs
            return x + bias

    [y] = d5.evaluate(Biased(), [X, X])
    np.testing.assert_array_equal(y, X + X)
    with pytest.raises(Deep500Error, match="num_inputs of a class in Python is 2"):
        d5.evaluate(Biased(), [X])
