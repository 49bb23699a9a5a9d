"""Ways to pass a check without being right, each of which must not pass."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.check.operators import processes
from deep500.errors import Deep500Error


class Cube(d5.CustomPythonOp):
    """Right."""

    def forward(self, inputs: Any) -> Any:
        return inputs[0] ** 3

    def backward(self, grads: Any, fwd_inputs: Any, fwd_outputs: Any) -> Any:
        return 3 * grads[0] * fwd_inputs[0] ** 2


class KeptSquare(d5.CustomPythonOp):
    """Its first result for a form of inputs, again and again: on ones, if it is run on ones first."""

    def __init__(self, described: bool = False) -> None:
        matrix = [d5.tensordesc(["a", "b"])] if described else None
        super().__init__(matrix, matrix)
        self.kept: dict[str, Any] = {}

    def forward(self, inputs: Any) -> Any:
        form = f"{inputs[0].shape} {inputs[0].dtype}"
        return self.kept.setdefault(form, inputs[0] ** 2)


KEPT: dict[str, Any] = {}


class KeptInAGlobal(d5.CustomPythonOp):
    def forward(self, inputs: Any) -> Any:
        form = f"{inputs[0].shape} {inputs[0].dtype}"
        return KEPT.setdefault(form, inputs[0] ** 2)


class KeptWithGradient(KeptSquare):
    def backward(self, grads: Any, fwd_inputs: Any, fwd_outputs: Any) -> Any:
        return 2 * grads[0] * fwd_inputs[0]


class NoGradient(Cube):
    def backward(self, grads: Any, fwd_inputs: Any, fwd_outputs: Any) -> Any:
        return np.full_like(fwd_inputs[0], np.nan)


class WrongSign(Cube):
    def backward(self, grads: Any, fwd_inputs: Any, fwd_outputs: Any) -> Any:
        return -super().backward(grads, fwd_inputs, fwd_outputs)


@pytest.mark.parametrize(
    "dtypes", [["float32"], ["bfloat16"], ["float64"]], ids=lambda dtypes: dtypes[0]
)
def test_a_wrong_gradient_is_found_in_every_dtype(dtypes: list[str]) -> None:
    assert d5.check_operator(Cube(), framework="reference", dtypes=dtypes).ok
    for wrong in (NoGradient(), WrongSign()):
        report = d5.check_operator(wrong, framework="reference", dtypes=dtypes)
        assert not report.ok and any(
            c.name == "differences" and c.ok is False for c in report.checks
        )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_outputs_is_wrong(count: int) -> None:
    report = d5.check_operator(
        lambda x: [x + 1, x][:count] + [x] * (count - 2),
        framework="reference",
        reference=lambda x: [x + 1, x],
        inputs=[(3, 4)],
    )
    assert [c.name for c in report.checks if c.ok is False][:1] == ["shape"]


@pytest.mark.parametrize(
    "subject",
    [KeptSquare(), KeptSquare(True), KeptInAGlobal(), KeptWithGradient()],
    ids=["alone", "described", "global", "gradient"],
)
def test_a_first_result_that_is_kept_is_wrong(subject: Any) -> None:
    report = d5.check_operator(subject, framework="reference", dtypes=["float64"])
    wrong = {check.name for check in report.checks if check.ok is False}
    assert {"forward", "sequence"} <= wrong


LAST: dict[str, Any] = {}


def late(x: Any) -> Any:
    """The result of the call before, which may have another shape."""
    before = LAST.get("y", x * 2)
    LAST["y"] = x * 2
    return before


def test_a_function_that_returns_other_shapes_is_wrong_not_our_defect() -> None:
    report = d5.check_operator(late, framework="reference", inputs=[(4, 6)])
    assert not report.ok


def test_many_large_questions_are_asked_in_several_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = []
    ask = processes.OperatorProcess.ask

    def counted(self: Any, method: str, *values: Any) -> Any:
        if method == "each":
            counts.append(len(values[1]))
        return ask(self, method, *values)

    monkeypatch.setattr(processes, "LARGE_MESSAGE", 2 * 24 * 8)
    monkeypatch.setattr(processes.OperatorProcess, "ask", counted)
    report = d5.check_operator(
        Cube(), framework="reference", dtypes=["float64"], inputs=[(4, 6)]
    )
    assert report.ok
    assert {1, 2} <= {*counts} and len(counts) > 50


def ragged(x: Any) -> Any:
    return [[1.0, 2.0], [3.0]]


def test_a_ragged_list_is_refused() -> None:
    with pytest.raises(Deep500Error, match="returns lists of different lengths"):
        d5.check_operator(ragged, framework="reference", inputs=[(4, 6)])
