"""d5 bench operator, from the command line to a bundle that verifies."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from deep500 import bundle
from deep500.bundle.records.verification import verify
from deep500.cli import main

QUICK = ("--budget", "0.8", "--threads", "1")
MINE = '''
import os, signal
from deep500.contracts.operator import Operator

KEPT = {}


class Twice(Operator):
    """2 x, with a kernel of NumPy that may go wrong."""

    how: str = "right"

    def forward(self, xp, x):
        return x + x

    def reference(self, numpy, x):
        if self.how == "remembers":
            return KEPT.setdefault(id(x), x + x)
        if self.how == "dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        while self.how == "never ends":
            pass
        return 2 * x if self.how == "right" else 2.02 * x
'''


@pytest.fixture
def home(tmp_path, keep_peaks):
    keep_peaks(tmp_path / "home")
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "home"


def test_one_plan_over_frameworks_dtypes_and_directions(d5, home, tmp_path):
    answer = d5(
        "bench",
        "operator",
        "MatMul",
        "--shape",
        "8x8,8x8",
        "--dtype",
        "float32",
        "float64",
        "--framework",
        "reference",
        "fake",
        "--kernel",
        "composed",
        "native",
        "--direction",
        "forward",
        "backward",
        "--out",
        tmp_path / "run",
        "--json",
        *QUICK,
    )
    assert answer.code == 0, answer.err
    entries = answer.json["entries"]
    assert len(entries) == 8
    assert entries[0]["name"] == "reference composed MatMul 8x8,8x8 float32 forward"
    assert entries[1]["verdicts"][0]["against"] == entries[0]["name"]
    first = entries[0]
    assert first["rates"]["flops"]["value"] == pytest.approx(2 * 8**3 / first["median"])
    assert first["rates"]["bytes"]["value"] == pytest.approx(
        3 * 64 * 4 / first["median"]
    )
    assert first["rates"]["roofline"]["value"] == pytest.approx(
        2 * 8**3 / 1e10 / first["median"]
    )
    backward = next(e for e in entries if e["name"].endswith("float32 backward"))
    assert backward["rates"]["flops"]["value"] == pytest.approx(
        4 * 8**3 / backward["median"]
    )
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    assert {e["group"] for e in plan["entries"]} == {"reference", "fake"}
    assert plan["about"]["threads"] == 1
    assert (
        "no kernel of its own"
        in plan["about"]["left_out"]["fake native MatMul 8x8,8x8 float64 backward"]
    )
    assert verify(tmp_path / "run").ok
    shown = d5("show", tmp_path / "run").out
    assert (
        "composed" in shown
        and "GFLOP/s" in shown
        and "left out" in shown
        and "of the roofline" in shown
    )
    assert d5("report", tmp_path / "run").code == 0
    assert "<h2>Operators</h2>" in (tmp_path / "run.html").read_text()
    compared = d5("compare", tmp_path / "run", tmp_path / "run", "--json")
    assert compared.code == 0 and len(compared.json["comparisons"]) == 8


def test_a_changed_rate_does_not_verify(d5, home, tmp_path):
    assert (
        d5(
            "bench",
            "operator",
            "Relu",
            "--shape",
            "50",
            "--framework",
            "reference",
            "--out",
            tmp_path / "run",
            *QUICK,
        ).code
        == 0
    )
    found = bundle.read(tmp_path / "run")
    derived: Any = found.documents["derived.json"]
    derived["entries"][0]["rates"]["flops"]["value"] *= 2
    writer = bundle.create(
        tmp_path / "other",
        {n: found.documents[n] for n in ("plan.json", "environment.json")},
    )
    for block in found.blocks:
        writer.append(block)
    writer.finish({"derived.json": derived})
    assert "rates/flops/value" in verify(tmp_path / "other").problems[0]


def test_users_file(d5, home):
    answer = d5(
        "bench",
        "operator",
        "mine.py:Twice",
        "--shape",
        "30",
        "--framework",
        "reference",
        "--json",
        *QUICK,
    )
    assert answer.code == 0, answer.err
    assert (
        answer.json["entries"][0]["name"] == "reference custom Twice 30 float32 forward"
    )


@pytest.mark.parametrize(
    ("how", "code", "text"),
    [
        ("wrong", 1, "wrong: reference custom gives a wrong forward result"),
        ("remembers", 1, "after its timing"),
        ("dies", 1, "SIGSEGV"),
        pytest.param("never ends", 2, "no answer within", marks=pytest.mark.slow),
    ],
)
def test_an_operator_that_is_wrong_has_no_time(d5, home, tmp_path, how, code, text):
    answer = d5(
        "bench",
        "operator",
        "mine.py:Twice",
        "--shape",
        "30",
        "--framework",
        "reference",
        "--set",
        f"how={how}",
        "--timeout",
        4 if how == "never ends" else 60,
        "--out",
        tmp_path / "run",
        *QUICK,
    )
    assert (answer.code, answer.out) == (code, ""), answer.err
    assert (
        text in answer.err
        and len([line for line in answer.err.splitlines() if line.startswith("d5:")])
        == 1
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("y[0] = z;", "op.cpp does not compile: op.cpp:1:"),
        ("*(volatile int *)16 = 1;", "SIGSEGV"),
        pytest.param(
            "for (volatile int i = 0;; ++i) {}",
            "no answer within 8 s",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_cpp_that_goes_wrong(home, tmp_path, monkeypatch, capsys, body, said):
    monkeypatch.setenv("DEEP500_HOME", str(home))
    (tmp_path / "op.cpp").write_text(
        f"struct op : deep500::CustomOperator {{ void forward(const DTYPE *x, DTYPE *y) {{ {body} }} }};"
    )
    code = main(
        [
            "bench",
            "operator",
            f"{tmp_path / 'op.cpp'}:op",
            "--shape",
            "8",
            "--framework",
            "reference",
            "--timeout",
            "8" if "for" in body else "60",
            "--out",
            str(tmp_path / "run"),
        ]
    )
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert said in next(line for line in err.splitlines() if line.startswith("d5: ")), (
        err
    )
    assert not (tmp_path / "run").exists()


RIVALS = {
    "a/gelu.py": """
import deep500 as d5
import numpy as np


class Gelu(d5.CustomPythonOp):
    def forward(self, inputs):
        x = inputs[0]
        return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def wide(x):
    return x + x
""",
    "b/gelu.py": """
import numpy as np
from deep500.contracts.operator import Operator


class Gelu(Operator):
    def forward(self, xp, x):
        return x / (1 + xp.exp(-1.702 * x))


def slow(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def twice(x):
    return 2 * x


def nothing(x):
    pass


def angry(x):
    raise KeyError("slow")
""",
}
ALONE = ("--framework", "reference", "--shape", "40", "--json", *QUICK)


@pytest.fixture
def rivals(home, tmp_path):
    for name, text in RIVALS.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)


def names(answer):
    assert answer.code == 0, answer.err
    return [entry["name"] for entry in answer.json["entries"]]


def the_line(answer):
    """What is said on standard error beside notes, which must be one line."""
    lines = answer.err.splitlines()
    [line] = [line for line in lines if not line.startswith("note:")]
    return line


def about(answer):
    plan = json.loads((Path(answer.json["bundle"]) / "plan.json").read_text())
    return plan["about"]


def test_operators_given_together_are_rivals_and_the_frameworks_own_is_the_base(
    d5, rivals
):
    tanh = "Gelu(approximate='tanh')"
    answer = d5("bench", "operator", "a/gelu.py:Gelu", tanh, *ALONE)
    assert names(answer) == [
        "reference composed Gelu 40 approximate=tanh float32 forward",
        "reference custom Gelu (gelu.py) 40 float32 forward",
    ]
    [verdict] = answer.json["entries"][1]["verdicts"]
    assert verdict["against"] == answer.json["entries"][0]["name"]
    assert "differing" not in about(answer)


def test_two_operators_of_one_name_are_told_apart_by_their_files(d5, rivals):
    files = ("a/gelu.py:Gelu", "b/gelu.py:Gelu", "a/gelu.py:Gelu")
    answer = d5("bench", "operator", *files, *ALONE)
    custom, composed = names(answer)
    assert custom == "reference custom Gelu (a/gelu.py) 40 float32 forward"
    assert composed == "reference composed Gelu (b/gelu.py) 40 float32 forward"
    [(name, reason)] = about(answer)["differing"].items()
    assert name == composed
    assert "it computes something else than Gelu (a/gelu.py)" in reason


def test_to_a_users_operator_the_built_in_one_of_its_name_is_added(d5, rivals):
    answer = d5("bench", "operator", "b/gelu.py:Gelu", *ALONE)
    assert names(answer)[0] == "reference composed Gelu 40 float32 forward"
    assert len(names(answer)) == 2


def test_a_built_in_operator_as_reference_is_timed_beside_and_judges(d5, rivals):
    answer = d5("bench", "operator", "b/gelu.py:twice", "--reference", "Relu", *ALONE)
    assert answer.code == 1
    [entry] = answer.json["entries"]
    assert entry["name"] == "reference composed Relu 40 float32 forward"
    [wrong] = about(answer)["wrong"].values()
    assert "reference custom gives a wrong forward result of twice" in wrong


def test_a_rival_is_suggested_where_there_is_none(d5, rivals):
    words = ("bench", "operator", "mine.py:Twice", "--shape", "30")
    answer = d5(*words, "--framework", "reference", *QUICK)
    assert answer.code == 0
    assert "note: only mine.py:Twice was timed; to compare it, name a rival" in (
        answer.err
    )
    assert "custom: your own code." in answer.out
    assert "the framework's own kernel" not in answer.out


def test_functions_are_timed_like_operators(d5, rivals):
    reference = ("--reference", "b/gelu.py:slow")
    answer = d5("bench", "operator", "b/gelu.py:slow", "Relu", *ALONE, *reference)
    assert answer.code == 1  # Relu is not what the reference computes
    [entry] = answer.json["entries"]
    assert entry["name"] == "reference custom slow 40 float32 forward"


def test_a_function_without_a_reference_is_judged_by_itself(d5, rivals):
    answer = d5("bench", "operator", "b/gelu.py:twice", "a/gelu.py:wide", *ALONE)
    assert names(answer) == [
        "reference custom twice 40 float32 forward",
        "reference custom wide 40 float32 forward",
    ]
    assert "differing" not in about(answer)  # x + x is 2 x
    answer = d5("bench", "operator", "b/gelu.py:angry", *ALONE)
    assert (answer.code, answer.out) == (2, "")
    assert "KeyError: 'slow', in angry (gelu.py, line" in the_line(answer)


@pytest.mark.parametrize("kernel", ["composed", "compiled"])
def test_kernels_that_a_users_code_does_not_have(d5, rivals, kernel):
    own = "b/gelu.py:twice"
    kernels = ("--kernel", kernel)
    answer = d5("bench", "operator", own, "--reference", own, *kernels, *ALONE)
    assert (answer.code, answer.out) == (2, "")
    assert the_line(answer)
    answer = d5(
        "bench", "operator", "a/gelu.py:Gelu", "b/gelu.py:Gelu", "--kernel", "compiled",
        *ALONE,
    )  # fmt: skip
    assert (answer.code, answer.out) == (2, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a/gelu.py:Gleu", "named 'Gleu'. Did you mean 'Gelu'? Known: Gelu, wide"),
        ("Gelu(1)", "write attributes as name=value"),
        ("Gelu(approximate=", "no operator is named 'Gelu(approximate='"),
        ("Gelu(approximate=open('x'))", "write attributes as name=value"),
        ("broken.py:Op", "broken.py cannot be"),
        ("leaves.py:Op", "leaves.py cannot be"),
        ("angry.py:Op", "KeyError: 'x', in Op.__init__ (angry.py, line 7)"),
    ],
)
def test_operators_that_cannot_be_loaded_are_one_line(d5, rivals, tmp_path, text, said):
    (tmp_path / "broken.py").write_text("class Op(:\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    (tmp_path / "angry.py").write_text(
        "import deep500 as d5\n\n\nclass Op(d5.CustomPythonOp):\n"
        "    def __init__(self):\n        super().__init__()\n        {}['x']\n"
    )
    answer = d5("bench", "operator", text, *ALONE)
    assert (answer.code, answer.out) == (2, "")
    assert said in the_line(answer)


@pytest.mark.parametrize("reference", ["nothing", "angry"])
def test_a_bad_reference_is_the_references_fault(d5, rivals, reference):
    reference = ("--reference", f"b/gelu.py:{reference}")
    answer = d5("bench", "operator", "b/gelu.py:Gelu", *reference, *ALONE)
    assert (answer.code, answer.out) == (2, "")
    assert "the reference b/gelu.py:" in the_line(answer)


DEFECTS = {
    "preparing": "subject.use_threads = None",
    "running": "subject.output_check = None",
    "after the timing": "del subject.arrays",
}


@pytest.mark.parametrize("when", DEFECTS)
def test_a_defect_of_ours_is_no_verdict_about_the_operator(d5, home, tmp_path, when):
    """The file stands for a defect: it breaks our own code when it is loaded."""
    code = f"from deep500.bench.operators import subject\n{DEFECTS[when]}\n{MINE}"
    (tmp_path / "mine.py").write_text(code)
    answer = d5(
        "bench", "operator", "mine.py:Twice", "--shape", "30", "--framework",
        "reference", *QUICK,
    )  # fmt: skip
    assert (answer.code, answer.out) == (70, ""), answer.err
    assert "this is a defect of Deep500" in the_line(answer)


def test_a_budget_that_checks_will_exceed_is_said_before(d5, home):
    words = ("bench", "operator", "Relu", "--shape", "8", "9", "--framework")
    answer = d5(*words, "reference", "--budget", "0.01")
    assert answer.code == 0
    notes = [line for line in answer.err.splitlines() if line.startswith("note:")]
    assert len(notes) == 1
    assert "to check 2 combinations and to start processes takes about" in notes[0]
    assert "beside the budget of 0.01 s" in notes[0]


FLAT = """
import deep500 as d5

class Flat(d5.CustomPythonOp):
    def forward(self, inputs):
        return 2 * inputs[0]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 2 * grads[0].ravel()
"""


def test_a_gradient_of_the_wrong_shape(d5, home, tmp_path):
    (tmp_path / "flat.py").write_text(FLAT)
    answer = d5(
        "bench",
        "operator",
        "flat.py:Flat",
        "--shape",
        "2x3",
        "--framework",
        "reference",
        "--kernel",
        "composed",
        "--direction",
        "backward",
        *QUICK,
    )
    assert (answer.code, answer.out) == (2, "")
    assert (
        answer.err.splitlines()[-1]
        == "d5: Flat.backward gives a gradient of the shape (6,) for input 0, whose shape is (2, 3)"
    )


def test_the_others_are_timed_where_one_is_wrong(d5, home):
    answer = d5(
        "bench",
        "operator",
        "mine.py:Twice",
        "--shape",
        "30",
        "--framework",
        "reference",
        "--set",
        "how=wrong",
        "--kernel",
        "composed",
        "native",
        *QUICK,
    )
    assert answer.code == 1
    assert (
        "WRONG, and so without a time: `reference custom Twice 30 how=wrong float32 forward`"
        in answer.out
    )
    assert "composed" in answer.out


WRONG = {
    "unknown operator": ("MatMull", "--shape", "8x8,8x8"),
    "no operator": (),
    "no shape": ("MatMul",),
    "bad shape": ("MatMul", "--shape", "8by8,8x8"),
    "shapes do not fit": ("MatMul", "--shape", "8x8,9x9"),
    "too few inputs": ("MatMul", "--shape", "8x8"),
    "dtype": ("Relu", "--shape", "8", "--dtype", "float31"),
    "framework": ("Relu", "--shape", "8", "--framework", "pytoch"),
    "kernel": ("Relu", "--shape", "8", "--kernel", "x"),
    "direction": ("Relu", "--shape", "8", "--direction", "up"),
    "device": ("Relu", "--shape", "8", "--device", "cuda"),
    "attribute": ("Relu", "--shape", "8", "--set", "alpha=1"),
    "form": ("Relu", "--shape", "8", "--set", "a"),
    "no such file": ("none.py:Op", "--shape", "8"),
    "threads": ("Relu", "--shape", "8", "--threads", "-1"),
    "suite": ("--suite", "deepbench:gem"),
    "tier": ("--suite", "deepbench:gemm", "--tier", "big"),
    "level 3": ("--suite", "deepbench:all_reduce"),
    "both": ("Relu", "--suite", "deepbench:gemm"),
    "part": ("--suite", "deepbench:gemm", "--part", "3"),
    "budget": ("Relu", "--shape", "8", "--budget", "-1"),
    "no native kernel": (
        "Relu",
        "--shape",
        "8",
        "--framework",
        "reference",
        "--kernel",
        "native",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_bad_input_is_one_line_and_nothing_is_left(home, tmp_path, capsys, wrong):
    more = () if "--framework" in WRONG[wrong] else ("--framework", "reference")
    code = main(
        ["bench", "operator", *WRONG[wrong], *more, "--out", str(tmp_path / "run")]
    )
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("d5: ") and err.count("\n") == 1, err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_part_of_a_suite(d5, home, tmp_path):
    answer = d5(
        "bench",
        "operator",
        "--suite",
        "deepbench:gemm",
        "--part",
        "1/12",
        "--framework",
        "reference",
        *QUICK,
    )
    assert answer.code == 0, answer.err
    assert (
        "12 of 243 problems, none scaled; left out" in answer.out
        and "gemm 64x1x1216 NN" in answer.out
    )


@pytest.mark.parametrize(
    "name", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_killed_while_measuring_the_bundle_stays_readable(d5, home, tmp_path, name):
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "deep500.cli",
            "bench",
            "operator",
            "Relu",
            "--shape",
            "200x100",
            "--framework",
            "reference",
            "fake",
            "--budget",
            "60",
            "--precision",
            "1e-6",
            "--threads",
            "1",
            "--out",
            "run",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "DEEP500_HOME": str(home)},
    )
    deadline = time.monotonic() + 300
    samples = tmp_path / "run" / "samples.jsonl"
    while not (samples.exists() and samples.read_bytes().count(b"\n") > 2):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(name)
    process.communicate(timeout=120)
    found = verify(tmp_path / "run")
    assert found.ok and not found.finished
    assert "unfinished" in d5("show", tmp_path / "run").out


def test_elementary(d5, home):
    answer = d5(
        "bench", "elementary", "exp", "--framework", "reference", "--n", "20", "--json"
    )
    assert answer.code == 0, answer.err
    [row] = answer.json["rows"]
    assert (
        row["n"] == 23
        and 0 < row["largest"] < 4
        and answer.json["largest"].endswith("a lower bound")
    )
    assert (
        "a lower bound"
        in d5(
            "bench", "elementary", "sqrt", "--framework", "reference", "--n", "20"
        ).out
    )
    for wrong in (["exq"], ["--framework", "nump"], ["--dtype", "int8"]):
        answer = d5("bench", "elementary", *wrong)
        assert answer.code == 2 and answer.err.count("\n") == 1
