"""Every kind of operator x reference x framework x option, checked by the command and in Python.

An honest one passes, a planted error is found, and a pair that cannot be checked says so in one line.
"""

import importlib
import itertools
import json
import random

import pytest

import deep500 as d5
from deep500.cli import main
from deep500.errors import UNDECIDED, Deep500Error
from deep500.frameworks import available_frameworks

# A plain function has no derivative of its own, so its planted error is one of float32.
PYTHON = '''
import deep500 as d5
import numpy as np
from deep500.contracts.operator import Operator


class Formula(Operator):
    """The square of x."""

    def forward(self, xp, x):
        return x * x

    def backward(self, xp, dy, x):
        return 2 * x * dy


class WrongFormula(Formula):
    """The square of x, with another derivative."""

    def backward(self, xp, dy, x):
        return 2.01 * x * dy


class Custom(d5.CustomPythonOp):
    def forward(self, inputs):
        return inputs[0] * inputs[0]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 2 * fwd_inputs[0] * grads[0]


class WrongCustom(Custom):
    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 2.01 * fwd_inputs[0] * grads[0]


def square(x):
    return np.square(x)


def wrong_square(x):
    factor = 1.001 if "float32" in str(x.dtype) else 1
    return np.square(x) * factor


def positive(x):
    return np.maximum(x, 0)


def positive_or_more(x):
    return np.maximum(x, 0.01)
'''
FUNCTION = """
import {module}


def square(x):
    return {call}(x)


def wrong_square(x):
    factor = 1.001 if "float32" in str(x.dtype) else 1
    return {call}(x) * factor
"""
CPP = """
template<typename T>
struct NAME : deep500::CustomOperator {
    int64_t size;
    NAME(const deep500::tensor_t *inputs, const deep500::tensor_t *outputs) : size(inputs[0].size()) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < size; ++i) y[i] = x[i] * x[i];
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < size; ++i) dx[i] = T(FACTOR) * x[i] * dy[i];
    }
};
"""
FILES = {
    "checked_mine.py": PYTHON,
    "checked_torch.py": FUNCTION.format(module="torch", call="torch.square"),
    "checked_jax.py": FUNCTION.format(module="jax.numpy as jnp", call="jnp.square"),
    "checked_tensorflow.py": FUNCTION.format(
        module="tensorflow as tf", call="tf.math.square"
    ),
    "square.cpp": CPP.replace("NAME", "square").replace("FACTOR", "2"),
    "wrong_square.cpp": CPP.replace("NAME", "wrong_square").replace("FACTOR", "2.01"),
}
# what is honest, and what is wrong
KINDS = {
    "built-in": ("Relu", "Relu"),
    "operator": ("checked_mine.py:Formula", "checked_mine.py:WrongFormula"),
    "custom": ("checked_mine.py:Custom", "checked_mine.py:WrongCustom"),
    "C++": ("square.cpp:square", "wrong_square.cpp:wrong_square"),
    "reference": ("checked_mine.py:square", "checked_mine.py:wrong_square"),
    "pytorch": ("checked_torch.py:square", "checked_torch.py:wrong_square"),
    "jax": ("checked_jax.py:square", "checked_jax.py:wrong_square"),
    "tensorflow": (
        "checked_tensorflow.py:square",
        "checked_tensorflow.py:wrong_square",
    ),
}
DEFINITIONS = ("built-in", "operator", "custom", "C++")
FUNCTIONS = tuple(kind for kind in KINDS if kind not in DEFINITIONS)
REFERENCES = ("", *FUNCTIONS)
OPTIONS = {
    "none": (),
    "shape": ("--shape", "3x5"),
    "dtype": ("--dtype", "float32"),
    "json": ("--json",),
}
FRAMEWORKS = available_frameworks()
FACES = ("command", "Python")
OK, WRONG, BAD_INPUT = 0, 1, 2
NUMBERS = itertools.count()


def cells(name):
    """The grid of one framework; functions of what is not installed are left out."""
    installed = [*DEFINITIONS, *(kind for kind in FUNCTIONS if kind in FRAMEWORKS)]
    references = [name for name in REFERENCES if not name or name in FRAMEWORKS]
    every = itertools.product(installed, references, (True, False), FACES, OPTIONS)
    for kind, reference, honest, face, option in every:
        is_planted = honest or kind != "built-in" or reference == "reference"
        # Relu is no square, and the options of a command that concern its output are not those of Python
        if kind == "built-in" and reference not in ("", "reference"):
            continue
        if is_planted and not (face == "Python" and option == "json"):
            yield kind, reference, honest, name, face, option


def may_be_refused(kind, name):
    """Whether this framework has no arrays that the function takes."""
    return kind in FUNCTIONS and kind != name


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checked")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def reference_of(kind, reference, honest):
    if not reference:
        return ""
    if kind == "built-in":
        name = "positive" if honest else "positive_or_more"
        return f"checked_mine.py:{name}"
    return KINDS[reference][0]


def by_command(files, capsys, subject, reference, name, option):
    words = ["check", "operator", subject, "--framework", name, *OPTIONS[option]]
    if reference:
        words += ["--reference", reference]
    bundle = files / f"out{next(NUMBERS)}"
    code = main([*words, "--out", str(bundle)])
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("d5: ")]
    assert "Traceback" not in out + err and "internal" not in err
    if code == BAD_INPUT:
        assert not out and len(lines) == 1, err
        return code, err
    if option == "json":
        json.loads(out)
    return code, out + err


def in_python(files, subject, reference, name, option):
    options: dict = {}
    if option == "shape":
        options["inputs"] = [(3, 5)]
    if option == "dtype":
        options["dtypes"] = ["float32"]
    if reference:
        options["reference"] = loaded(files, reference)
    try:
        report = d5.check_operator(loaded(files, subject), name, **options)
    except Deep500Error as error:
        assert "\n" not in str(error)
        return BAD_INPUT, str(error)
    if report.wrong:
        return WRONG, str(report)
    return OK if report.ok else UNDECIDED, str(report)


def loaded(files, text):
    """What a command names, as Python would import it."""
    file, _, name = text.partition(":")
    if not name:
        return getattr(d5.operators, text)
    if file.endswith(".cpp"):
        return d5.compile_custom_cppop(name, files / file)
    found = getattr(importlib.import_module(file.removesuffix(".py")), name)
    return found() if isinstance(found, type) else found


def faults_of(files, capsys, every):
    faults: list[tuple] = []
    for cell in every:
        kind, reference, honest, name, face, option = cell
        subject = KINDS[kind][0 if honest else 1]
        refer = reference_of(kind, reference, honest)
        try:
            if face == "command":
                code, text = by_command(files, capsys, subject, refer, name, option)
            else:
                code, text = in_python(files, subject, refer, name, option)
        except Exception as error:
            faults.append((cell, repr(error)))
            continue
        if code in (BAD_INPUT, UNDECIDED) and may_be_refused(kind, name):
            continue
        if code != (OK if honest else WRONG):
            faults.append((cell, code, text))
    return faults


@pytest.fixture
def check(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    monkeypatch.syspath_prepend(str(files))

    def check(every):
        faults = faults_of(files, capsys, every)
        assert not faults, f"{len(faults)} of {len(every)}: {faults[:5]}"

    return check


def cheap():
    """Cells of NumPy alone, in which nothing is compiled."""
    for cell in cells("reference"):
        kind, reference, _, _, _, option = cell
        is_numpy = kind not in ("C++", *FUNCTIONS[1:])
        is_small = option in ("shape", "dtype")
        if is_numpy and is_small and reference in ("", "reference"):
            yield cell


def test_a_sample_of_the_grid(check):
    check(random.Random(500).sample([*cheap()], 5))


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_cell(check, kind, name):
    check([cell for cell in cells(name) if cell[0] == kind])
