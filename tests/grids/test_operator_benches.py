"""Every kind of operator x framework x option of `d5 bench operator`: times, or one line that says why there are none.

Trials (all that happens before the clock starts) cover the whole grid, one process per framework; commands cover the
way from the shell to the report.
"""

import itertools
import json
import random

import pytest

from deep500.bench.operators.jobs import DIRECTIONS, OperatorJob
from deep500.bench.trials import ATTEMPT
from deep500.cli import main
from deep500.contracts.calls import KERNELS
from deep500.frameworks import available_frameworks
from deep500.supervision.isolation import Died, isolated_each

PYTHON = '''
import deep500 as d5
import numpy as np
from deep500.contracts.operator import Operator


class Formula(Operator):
    """The larger one of x and 0, by a formula with a derivative."""

    def forward(self, xp, x):
        return xp.maximum(x, 0)

    def backward(self, xp, dy, x):
        return xp.where(x > 0, dy, 0 * dy)


class Custom(d5.CustomPythonOp):
    def forward(self, inputs):
        return np.maximum(inputs[0], 0)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (fwd_inputs[0] > 0)


def plain(x):
    return np.maximum(x, 0)
'''
CPP = """
template<typename T>
struct positive : deep500::CustomOperator {
    int64_t size;
    positive(const deep500::tensor_t *inputs, const deep500::tensor_t *outputs) : size(inputs[0].size()) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < size; ++i) y[i] = x[i] > 0 ? x[i] : T(0);
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < size; ++i) dx[i] = x[i] > 0 ? dy[i] : T(0);
    }
};
"""
FILES = {
    "mine.py": PYTHON,
    "positive.cpp": CPP,
    "by_torch.py": "import torch\n\ndef positive(x):\n    return torch.relu(x)\n",
    "by_jax.py": "import jax\n\ndef positive(x):\n    return jax.nn.relu(x)\n",
}
KINDS = {
    "built-in": "Relu",
    "operator": "mine.py:Formula",
    "custom": "mine.py:Custom",
    "C++": "positive.cpp:positive",
    "NumPy function": "mine.py:plain",
    "PyTorch function": "by_torch.py:positive",
    "JAX function": "by_jax.py:positive",
}
# the frameworks whose arrays a function is written for; NumPy's functions take PyTorch's as well
OWNERS = {
    "NumPy function": "reference",
    "PyTorch function": "pytorch",
    "JAX function": "jax",
}
OPTIONS = {
    "none": (),
    "rivals": ("Relu", "positive.cpp:positive"),
    "reference": ("--reference", "mine.py:plain"),
    "built-in reference": ("--reference", "Relu"),
    "kernel": ("--kernel", "native"),
    "backward": ("--direction", "backward"),
    "dtype": ("--dtype", "float64"),
}
FRAMEWORKS = available_frameworks()
REFERENCES = ("", "mine.py:plain", "Relu")
DTYPES = ("float32", "float64")
TRIALS = [*itertools.product(KINDS, REFERENCES, ("", *KERNELS), DIRECTIONS, DTYPES)]
DEFECT = ("internal", "has no attribute", "is not defined", "Traceback")


@pytest.fixture(scope="module")
def files(tmp_path_factory, keep_peaks):
    """The operators, in a folder with peaks, so that no test measures them."""
    folder = tmp_path_factory.mktemp("operators")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    keep_peaks(folder / "home")
    return folder


def trial_job(files, name, kind, reference, kernel, direction, dtype):
    def place(text):
        return f"{files / text}" if ":" in text else text

    return OperatorJob(
        place(KINDS[kind]),
        {},
        "4x6",
        dtype,
        name,
        kernel,
        direction,
        1,
        place(reference),
    )


def must_run(name, kind, reference, kernel, direction):
    """Whether this cell has no excuse: the default kernel of what the framework can run."""
    if kernel not in ("", "native"):
        return False
    if kind in OWNERS:
        return OWNERS[kind] == name and direction == "forward"
    if kernel == "native":
        return kind in ("custom", "C++") and direction == "forward"
    return True


def check_trials(files, name, cells):
    jobs = [trial_job(files, name, *cell) for cell in cells]
    calls = [{"job": job.to_json()} for job in jobs]
    faults = []
    results = isolated_each(ATTEMPT, calls, 300.0)
    for cell, result in zip(cells, results, strict=True):
        kind, reference, kernel, direction, _ = cell
        if isinstance(result, Died):
            faults.append((cell, str(result)))
            continue
        text = result.get("text", "")
        is_one_line = "\n" not in text and not any(word in text for word in DEFECT)
        if (
            result["state"] == "wrong"
            or not is_one_line
            or (
                result["state"] != "ok"
                and must_run(name, kind, reference, kernel, direction)
            )
        ):
            faults.append((cell, result))
    assert not faults, f"{len(faults)} of {len(cells)}: {faults[:5]}"


def test_a_sample_of_the_trials(files):
    sample = random.Random(500).sample(TRIALS, 24)
    # without the compilers' cells, which take seconds each
    check_trials(files, "reference", [cell for cell in sample if cell[2] != "compiled"])


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_every_trial(files, name):
    check_trials(files, name, TRIALS)


def check_command(files, monkeypatch, capsys, kind, option, name):
    monkeypatch.chdir(files)
    monkeypatch.setenv("DEEP500_HOME", str(files / "home"))
    words = ["bench", "operator", KINDS[kind], *OPTIONS[option], "--shape", "4x6"]
    settings = ["--framework", name, "--budget", "0.2", "--threads", "1", "--json"]
    code = main([*words, *settings])
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("d5: ")]
    assert "Traceback" not in err and not any(word in err for word in DEFECT)
    if code == 2:
        assert not out and len(lines) == 1, err
        assert not must_run(
            name, kind, "", "", "backward" if option == "backward" else "forward"
        ), err
        return
    assert code == 0, err
    document = json.loads(out)
    assert all(entry["n"] > 0 for entry in document["entries"])
    plan = json.loads((files / document["bundle"] / "plan.json").read_text())
    left_out = " ".join(plan["about"]["left_out"].values())
    assert not any(word in left_out for word in DEFECT), left_out
    if option in ("rivals", "built-in reference") and kind != "built-in":
        verdicts = [entry["verdicts"] for entry in document["entries"]]
        assert any(verdicts) or left_out


COMMANDS = [*itertools.product(KINDS, OPTIONS)]


@pytest.mark.parametrize(("kind", "option"), random.Random(500).sample(COMMANDS, 4))
def test_a_sample_of_the_commands(files, monkeypatch, capsys, kind, option):
    check_command(files, monkeypatch, capsys, kind, option, "reference")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reference", "onnxruntime", "pytorch"])
@pytest.mark.parametrize(("kind", "option"), COMMANDS)
def test_every_command(files, monkeypatch, capsys, kind, option, name):
    if name not in FRAMEWORKS:
        pytest.skip(f"{name} is not installed")
    check_command(files, monkeypatch, capsys, kind, option, name)


RIVALS = """
import ctypes

def two(x, y):
    return x + y

def one(x):
    return x + x

def crash(x, y):
    ctypes.string_at(0)
    return x
"""


@pytest.mark.parametrize(
    ("rival", "code", "text"),
    [
        ("missing.py:f", 2, "there is no file missing.py"),
        ("missing.cpp:f", 2, "there is no file missing.cpp"),
        ("own_rivals.py:none", 2, "is named 'none'. Did you mean 'one'?"),
        ("own_rivals.py:one", 2, "one() takes 1 positional argument"),
        ("own_rivals.py:crash", 1, "the process ended by signal SIGSEGV"),
    ],
)
def test_a_rival_that_cannot_run_is_not_left_out(
    tmp_path, monkeypatch, capsys, rival, code, text
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_rivals.py").write_text(RIVALS)
    words = ["bench", "operator", "own_rivals.py:two", rival]
    words += ["--shape", "8x8,8x8", "--framework", "reference"]
    words += ["--budget", "0.2", "--processes", "2"]
    assert main(words) == code
    out, err = capsys.readouterr()
    assert text in (err if code == 2 else out)
    lines = [line for line in err.splitlines() if line.startswith("d5: ")]
    assert len(lines) == (1 if code == 2 else 0)
    assert ("two 8x8,8x8" in out) is (code == 1)  # the other is still measured


THREADS = """
#include <omp.h>

template<typename T>
struct threads : deep500::CustomOperator {
    int64_t size;
    threads(const deep500::tensor_t *inputs, const deep500::tensor_t *outputs) : size(inputs[0].size()) {}
    void forward(const T *x, T *y) {
        int count = 0;
        #pragma omp parallel
        #pragma omp single
        count = omp_get_num_threads();
        for (int64_t i = 0; i < size; ++i) y[i] = x[i] + count;
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < size; ++i) dx[i] = dy[i];
    }
};
"""
PLUS = """
def plus_1(x):
    return x + 1

def plus_2(x):
    return x + 2
"""


def _quick_without(*slow):
    """The frameworks; these are slow ones to start or to build for."""
    names = []
    for name in FRAMEWORKS:
        marks = [pytest.mark.slow] if name in slow else []
        names.append(pytest.param(name, marks=marks))
    return names


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", _quick_without("pytorch", "tensorflow"))
def test_a_cpp_operator_has_the_threads_that_are_asked_for(tmp_path, name, count):
    (tmp_path / "threads.cpp").write_text(THREADS)
    (tmp_path / "plus.py").write_text(PLUS)
    states = {}
    for number in (1, 2):
        job = OperatorJob(
            f"{tmp_path}/threads.cpp:threads",
            {},
            "8x8",
            "float32",
            name,
            "",
            "forward",
            count,
            f"{tmp_path}/plus.py:plus_{number}",
        )
        [result] = isolated_each(ATTEMPT, [{"job": job.to_json()}], 120.0)
        states[number] = result["state"]
    assert states == {count: "ok", 3 - count: "wrong"}
