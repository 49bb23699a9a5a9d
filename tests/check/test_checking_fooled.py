"""Ways to pass a check without being right, each of which must not pass."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5


class Cube(d5.CustomPythonOp):
    """Right."""

    def forward(self, inputs: Any) -> Any:
        return inputs[0] ** 3

    def backward(self, grads: Any, fwd_inputs: Any, fwd_outputs: Any) -> Any:
        return 3 * grads[0] * fwd_inputs[0] ** 2


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
