"""A package that is not installed gives one line with the command that installs it, wherever it is asked for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MISSING = [  # the framework, what its extra is called, and the package that is missing
    ("pytorch", "pytorch", "torch"),
    ("jax", "jax", "jax"),
    ("tensorflow", "tensorflow", "tensorflow"),
    ("onnxruntime", "onnx", "onnxruntime"),
    ("onnxruntime", "onnx", "onnx"),
    ("onnxruntime", "onnx", "spox"),
]
ENTRIES = """
import importlib, json, sys
import numpy as np
import deep500 as d5
from deep500.errors import Unsupported

name = sys.argv[1]
fw = d5.framework(name)
package = importlib.import_module(f"deep500.frameworks.{name}")
relu, x = d5.operators.Relu(), np.ones((2, 3), "float32")

class Double(d5.CustomPythonOp):
    def forward(self, inputs):
        return inputs[0] * 2
    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * 2

double = Double()
network = d5.Network()
network.add_input("x", (0, 3))
network.add_output(network.add_node("Relu", ["x"], ["y"]))
custom = d5.Network()
custom.add_input("x", (0, 3))
custom.add_output(custom.add_node(double, ["x"], ["y"]))
entries = {
    "module": lambda: fw.module,
    "require": lambda: fw.require(),
    "xp": lambda: fw.xp,
    "tensor": lambda: fw.tensor(x),
    "formula": lambda: fw.formula(relu),
    "kernel": lambda: fw.kernel(relu),
    "evaluate": lambda: fw.evaluate(relu, [x]),
    "gradient": lambda: fw.gradient(relu, [x], [x]),
    "evaluate a custom operator": lambda: fw.evaluate(double.operator, [x]),
    "derivative": lambda: fw.derivative(abs, [x], [x]),
    "forward_call": lambda: fw.forward_call(relu, [x], "native"),
    "backward_call": lambda: fw.backward_call(relu, [x], [x], "composed"),
    "forward_call of a custom operator": lambda: fw.forward_call(double.operator, [x], "native"),
    "custom_op": lambda: fw.custom_op(double),
    "the package's custom_op": lambda: package.custom_op(double),
    "executor": lambda: fw.executor(network),
    "executor of a custom operator": lambda: fw.executor(custom),
    "from_model": lambda: package.from_model(network),
    "d5.evaluate": lambda: d5.evaluate(relu, [x], name),
}
answers = {}
for entry, call in entries.items():
    try:
        answers[entry] = f"no error: {call()!r}"
    except Unsupported as error:
        answers[entry] = str(error)
    except Exception as error:
        answers[entry] = f"{type(error).__name__}: {error}"
print(json.dumps(answers | {"available": fw.available(), "listed": name in d5.available_frameworks()}))
"""
ONNX = """
import json, sys
import deep500 as d5
from deep500.errors import Unsupported

network = d5.networks.Mlp(hidden=(3,)).build((4,), 2)
entries = {
    "from_onnx": lambda: d5.Network.from_onnx(b""),
    "OnnxFile": lambda: d5.networks.OnnxFile("a.onnx").build((4,), 2),
    "to_onnx": lambda: bool(network.to_onnx()),
    "backward_network": lambda: bool(network.backward_network()),
}
answers = {}
for entry, call in entries.items():
    try:
        answers[entry] = f"no error: {call()!r}"
    except d5.Deep500Error as error:
        answers[entry] = f"{type(error).__name__}: {error}"
print(json.dumps(answers))
"""


def python(
    folder: Path, missing: str, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """A new Python, and all that it starts, where importing `missing` fails and finding it gives nothing."""
    (folder / "sitecustomize.py").write_text(
        f"import sys\nsys.modules[{missing!r}] = None\n"
    )
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[2])])
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": path},
    )


def answers(done: "subprocess.CompletedProcess[str]") -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("name", "extra", "missing"), MISSING)
def test_every_entry_of_a_framework(
    name: str, extra: str, missing: str, tmp_path: Path
) -> None:
    found = answers(python(tmp_path, missing, "-c", ENTRIES, name))
    assert (found.pop("available"), found.pop("listed")) == (False, False)
    text = f"{name} is not installed: pip install 'deep500-bench[{extra}]'"
    assert {entry: answer for entry, answer in found.items() if answer != text} == {}


def test_the_entries_work_where_nothing_is_missing(tmp_path: Path) -> None:
    """Or the test above could pass because its own code is wrong."""
    found = answers(
        python(tmp_path, "nothing_of_that_name", "-c", ENTRIES, "reference")
    )
    wrong = {
        entry
        for entry, answer in found.items()
        if not str(answer).startswith("no error")
    }
    # Relu has no method for the reference, and so no kernel of its own
    assert wrong == {"available", "listed", "derivative"} | {"forward_call"}


@pytest.mark.parametrize(("missing", "without"), [("onnx", 4), ("spox", 1)])
def test_reading_and_writing_onnx(missing: str, without: int, tmp_path: Path) -> None:
    found = answers(python(tmp_path, missing, "-c", ONNX))
    text = f"Unsupported: {missing} is not installed: pip install 'deep500-bench[onnx]'"
    assert [answer for answer in found.values()].count(text) == without
    assert found["backward_network"] == text
    if missing == "spox":
        assert found["to_onnx"] == "no error: True"
        assert found["from_onnx"].startswith(
            "Deep500Error: the ONNX model is not an ONNX model"
        )


@pytest.mark.parametrize(("name", "extra", "missing"), MISSING[:4])
def test_the_command_line(name: str, extra: str, missing: str, tmp_path: Path) -> None:
    command = ("-m", "deep500.cli", "check", "operator", "Relu", "--framework", name)
    done = python(tmp_path, missing, *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"d5: {name} is not installed: pip install 'deep500-bench[{extra}]'\n"
    )
