"""The folder of operators as a package: names load lazily, and come from the files alone."""

import subprocess
import sys

import pytest

from deep500 import operators, registry
from deep500.contracts.operator import TensorSpec
from deep500.errors import Unsupported


def test_every_operator_is_a_name_of_the_package() -> None:
    assert dir(operators) == operators.__all__ == sorted(registry.known("operators"))
    assert {"Conv", "SoftmaxCrossEntropyLoss"} <= set(operators.__all__)
    assert all(getattr(operators, name).__name__ == name for name in operators.__all__)


def test_an_unknown_operator_is_one_clear_line() -> None:
    with pytest.raises(
        AttributeError,
        match=r"^no operator is named 'Softmx'. Did you mean 'Softmax'\? Known: \d+ of",
    ):
        operators.Softmx  # noqa: B018
    with pytest.raises(AttributeError):
        operators.__wrapped__  # noqa: B018


def test_a_dtype_that_is_not_there_is_one_clear_line() -> None:
    with pytest.raises(
        Unsupported,
        match=r"^ONNX's type 8 is not there; those that are: 1 \(float32\), ",
    ):
        operators.Cast(to=8).infer(TensorSpec((2,)))


def test_importing_the_package_loads_no_operator() -> None:
    code = "import sys, deep500.operators as o; o.Relu; print(*(m for m in sys.modules if 'deep500.operators.' in m))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["deep500.operators.relu"]
