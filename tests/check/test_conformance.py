"""ONNX's suite: a seeded sample of it must hold, and its runner must see wrong results, crashes and endless cases."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch  # noqa: F401 - loaded, so that this process is one to refuse
from onnx import TensorProto, helper

from deep500.check.conformance import page, running, suite
from deep500.check.conformance.derivatives import (
    SKIPPED,
    UNSTABLE,
    judge_derivative,
)
from deep500.check.conformance.judging import (
    DIRECT,
    ERROR,
    PASS,
    UNSUPPORTED,
    WRONG,
    CaseVerdict,
    judge,
)
from deep500.check.conformance.suite import SuiteCase
from deep500.check.conformance.verdicts import BOUND
from deep500.errors import Deep500Error
from deep500.graph.writing_out import WritingOut
from deep500.operators import Relu

ROOT = Path(__file__).parents[2]
QUICK = ["reference", "pytorch", "onnxruntime", running.GRADIENT]
SLOW = [
    name
    for name in running.columns()
    if name not in (*QUICK, DIRECT) and BOUND not in name
]


def run(*options: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "_conformance.py", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr


def faults(path: Path) -> list[tuple]:
    return [
        (case["name"], column, v["word"], v["text"])
        for case in json.loads(path.read_text())["cases"]
        for column, v in case["verdicts"].items()
        if v["word"] in (WRONG, ERROR)
    ]


@pytest.mark.parametrize(
    ("columns", "count"), [(QUICK, 60), (SLOW, 20)], ids=["quick", "slow to start"]
)
def test_a_sample_of_the_suite_holds(
    columns: list[str], count: int, tmp_path: Path
) -> None:
    if not columns:
        pytest.skip("no other framework is installed")
    run(
        "--sample",
        str(count),
        "--seed",
        "1",
        "--json",
        str(tmp_path / "found.json"),
        "--columns",
        *columns,
    )
    assert faults(tmp_path / "found.json") == []
    cases = json.loads((tmp_path / "found.json").read_text())["cases"]
    assert len(cases) >= count
    for name in columns:
        assert (
            sum(case["verdicts"][name]["word"] == PASS for case in cases)
            >= len(cases) // 4
        ), name


@pytest.mark.slow
def test_the_runner_finds_what_is_known_of_onnxruntime(tmp_path: Path) -> None:
    """An independent count: 2033 cases, 1571 of which pass in a session of ONNX Runtime 1.31.1."""
    run("--json", str(tmp_path / "found.json"), "--columns", DIRECT)
    cases = json.loads((tmp_path / "found.json").read_text())["cases"]
    assert len(cases) == 2033
    assert sum(case["verdicts"][DIRECT]["word"] == PASS for case in cases) == 1571


def case_of(
    op: str = "Relu",
    x: np.ndarray | None = None,
    y: np.ndarray | None = None,
    name: str = "test_case",
    **attributes: Any,
) -> SuiteCase:
    """One node; Relu of some numbers if nothing else is said."""
    x = np.array([[-1.5, 2.0, 0.5]], "float32") if x is None else x
    y = np.asarray(np.maximum(x, 0)) if y is None else y
    infos = [
        helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape
        )
        for n, v in (("x", x), ("y", y))
    ]
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"], **attributes)], "g", infos[:1], infos[1:]
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    )
    return SuiteCase(name, "node", op, model, (([x], [y]),), 1e-3, 1e-7)


@pytest.mark.parametrize("name", ["reference", "pytorch", "onnxruntime", DIRECT])
def test_a_right_result_passes(name: str) -> None:
    assert judge(case_of(), name) == CaseVerdict(PASS)
    assert judge(case_of(x=np.array(-3, "float32")), name) == CaseVerdict(PASS)
    assert judge(case_of(x=np.zeros((2, 0, 3), "float32")), name) == CaseVerdict(PASS)


def test_a_case_is_judged_as_it_stands_and_with_its_inputs_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A shape that is an input; without specializing, only the second way passes."""
    x, to = np.arange(6, dtype="float32"), np.array([3, 2])
    infos = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, (6,)),
        helper.make_tensor_value_info("to", TensorProto.INT64, (2,)),
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (3, 2))
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "to"], ["y"])], "g", infos, [y]
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    )
    data = (([x, to], [x.reshape(3, 2)]),)
    case = SuiteCase("test_reshape", "node", "Reshape", model, data, 1e-3, 1e-7)
    columns = ["reference", "reference" + BOUND]
    assert [judge(case, column).word for column in columns] == [PASS, PASS]
    monkeypatch.setattr(WritingOut, "_with_constants", lambda self, node: 1 / 0)
    assert [judge(case, column).word for column in columns] == [ERROR, PASS]


def test_a_planted_wrong_operator_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge_derivative(case_of()).word == PASS
    monkeypatch.setattr(Relu, "backward", lambda self, xp, dy, y: -dy)
    assert judge_derivative(case_of()).word == WRONG
    monkeypatch.setattr(Relu, "forward", lambda self, xp, x: xp.relu(x) * 1.01)
    assert judge(case_of(), "reference") == CaseVerdict(
        WRONG,
        "output 0: 2 of 3 elements are off, first 2.0199999809265137 for 2.0 at [0, 1]",
    )
    monkeypatch.setattr(Relu, "forward", lambda self, xp, x: xp.relu(x)[0])
    assert (
        judge(case_of(), "reference").text
        == "output 0 is float32[3] where float32[1, 3] is right"
    )
    monkeypatch.setattr(
        Relu, "forward", lambda self, xp, x: xp.astype(xp.relu(x), "float64")
    )
    assert (
        judge(case_of(), "reference").text
        == "output 0 is float64[1, 3] where float32[1, 3] is right"
    )
    monkeypatch.setattr(Relu, "forward", lambda self, xp, x: x / [])
    assert judge(case_of(), "reference").word == ERROR


def test_nan_is_right_only_where_it_is_wanted() -> None:
    nan, one = np.array([np.nan], "float32"), np.ones(1, "float32")
    assert judge(case_of("Identity", nan, nan), DIRECT).word == PASS
    assert judge(case_of("Identity", nan, one), DIRECT).word == WRONG
    assert judge(case_of("Identity", one, nan), DIRECT).word == WRONG


def test_random_results_are_compared_by_shape_and_dtype() -> None:
    zeros, ones = np.zeros(3, "float32"), np.ones(3, "float32")
    assert (
        judge(case_of("Identity", zeros, ones, name="test_bernoulli_seed"), DIRECT).word
        == PASS
    )
    assert judge(
        case_of("Identity", zeros, ones[:2], name="test_bernoulli"), DIRECT
    ).word in (
        WRONG,
        ERROR,
    )
    names = [
        "test_bernoulli",
        "test_training_dropout_mask",
        "test_training_dropout_zero_ratio",
        "test_dropout_default",
    ]
    assert [case_of(name=name).random for name in names] == [True, True, False, False]


def test_what_is_not_there_is_unsupported() -> None:
    found = judge(case_of("NonMaxSuppressor", domain="elsewhere"), "reference")
    assert found.word == ERROR and "no opset" in found.text  # no valid model
    text = case_of(x=np.array(["a"], object), y=np.array(["a"], object), op="Identity")
    assert judge(text, "reference").word == UNSUPPORTED


def test_kinks_are_set_aside() -> None:
    assert judge_derivative(case_of(x=np.zeros((1, 3), "float32"))).word == UNSTABLE
    assert judge_derivative(case_of("Shape", y=np.array([1, 3]))).word == SKIPPED


CHILDREN = """
import os, time
from deep500.check.conformance.judging import CaseVerdict
from deep500.check.conformance.running import verdicts

def judging(case):
    if case == "dies": os.abort()
    if case == "hangs": time.sleep(60)
    return CaseVerdict("pass", "line\\nline")

print(*verdicts(["a", "dies", "b", "hangs", "c", "dies"], judging, 2.0), sep="\\n")
"""


def test_a_case_that_dies_or_never_ends_costs_only_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILDREN], capture_output=True, text=True, timeout=60
    )
    fine, died = (
        str(CaseVerdict(PASS, "line\nline")),
        str(CaseVerdict(ERROR, "it ended the process (exit code -6)")),
    )
    assert done.stdout.splitlines() == [
        fine,
        died,
        fine,
        str(CaseVerdict(ERROR, "it took longer than 2 s")),
        fine,
        died,
    ]


def test_a_process_with_a_framework_is_refused() -> None:
    with pytest.raises(Deep500Error, match="already loaded.* torch"):
        next(running.verdicts([case_of()], running.judge_of("reference"), 1.0))


def test_a_sample_is_the_same_again() -> None:
    first, again = (suite.sample(10, 3, ["Relu", "Softmax", "Abs"]) for _ in range(2))
    # stored models; a process makes the others once
    assert [c.name for c in first[:2]] == [c.name for c in again[:2]]


def test_the_page_counts_and_names() -> None:
    cases = [
        case_of(name="test_a"),
        case_of(name="test_b"),
        case_of("Nope", name="test_c"),
    ]
    missing = CaseVerdict(
        UNSUPPORTED,
        "the ONNX model: the operator 'Nope' of node 'n' is not there; those that are: Relu",
    )
    found = {
        "reference": [CaseVerdict(PASS), CaseVerdict(WRONG, "1 | 2"), missing],
        "reference" + BOUND: [
            CaseVerdict(PASS),
            CaseVerdict(PASS),
            CaseVerdict(WRONG, "bound"),
        ],
        "gradient": [
            CaseVerdict(PASS),
            CaseVerdict(UNSTABLE),
            CaseVerdict(UNSUPPORTED, "no"),
        ],
    }
    text = page.markdown(cases, found)
    for line in (
        "| reference | 1 | 1 | 1 | 0 | 2 |",
        "| Relu | 2 | 1 | 1/1 |",
        "| Nope | 1 | 0 | - |",
        "| test_b | reference | wrong | 1 \\| 2 |",
        "| 1 | the operator Nope is not there |",
    ):
        assert line in text.splitlines()
    assert text == page.markdown(cases, found) and f"onnx {onnx.__version__}" in text
    assert page.as_json(cases, found)["cases"][1]["verdicts"]["reference"] == {
        "word": "wrong",
        "text": "1 | 2",
    }


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (
            "the ONNX model: 'x' is of int4; those that can be read: bool",
            "a tensor of int4",
        ),
        (
            "the ONNX model: node 'n' is a Add of opset 6; it is there from opset 7 on",
            "a node is a Add of opset 6",
        ),
    ],
)
def test_reasons_are_grouped(text: str, short: str) -> None:
    assert page.reason(text) == short


@pytest.mark.parametrize("name", ["pytorch", "onnxruntime"])
def test_a_type_that_a_framework_lacks_is_refused(name: str) -> None:
    y = np.zeros((1, 3), helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT4E2M1))
    found = judge(case_of("Cast", y=y, to=TensorProto.FLOAT4E2M1), name)
    assert found.word == UNSUPPORTED and "float4_e2m1fn" in found.text
