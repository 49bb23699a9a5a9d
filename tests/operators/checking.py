"""The shipped checks of operators, as the generated tests ask for them: lists of what is wrong."""

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from deep500 import registry
from deep500.check.operators.array_checks import (
    gradient_check,
    output_check,
    shape_check,
)
from deep500.check.operators.checks import autodiff
from deep500.check.operators.derivatives import difference_check
from deep500.check.operators.examples import XP, Example, examples, examples_of
from deep500.check.operators.formats import cast, is_float
from deep500.check.operators.runner import OperatorRunner
from deep500.frameworks import framework

__all__ = [
    "XP",
    "Example",
    "autograd",
    "cast",
    "derivative_faults",
    "examples",
    "examples_of",
    "gradient_faults",
    "in_dtype",
    "is_float",
    "marks",
    "output_faults",
]

OPERATORS = registry.known("operators")
THIRD = set(random.Random(7).sample(OPERATORS, len(OPERATORS) // 3))


def marks(example: Example, name: str, dtype: str) -> list[pytest.MarkDecorator]:
    """Slow is what `make test` leaves out: all but the first case of an operator, and what is not sampled of that.

    Quick are all cases on the reference, the first in both dtypes on PyTorch and ONNX Runtime, and for a third of the
    operators that in float32 on the others.
    """
    first, sampled = (
        example.name.endswith("-0"),
        type(example.operator).__name__ in THIRD and dtype == "float32",
    )
    quick = name == "reference" or (
        first and (name in ("pytorch", "onnxruntime") or sampled)
    )
    return [] if quick else [pytest.mark.slow]


@cache
def in_dtype(example: Example, dtype: str) -> Example:
    return example.cast(dtype) if example.floats else example


def output_faults(example: Example, got: Sequence[Any], dtype: str) -> list[str]:
    """What is wrong with the outputs that a framework computed in this dtype; native kernels may return fewer."""
    same = in_dtype(example, dtype)
    return [
        check.text
        for check in (shape_check(same, got), output_check(same, got))
        if not check.ok
    ]


def gradient_faults(example: Example, got: Sequence[Any], dtype: str) -> list[str]:
    """What is wrong with the gradients, one for every input (None: there is none)."""
    check = gradient_check(in_dtype(example, dtype), got)
    return [] if check.ok else [check.text]


def derivative_faults(example: Example, grads: Sequence[Any]) -> list[str]:
    """Where these gradients contradict central differences of the formula."""
    check = difference_check(in_dtype(example, "float64"), grads)
    return [check.text] if check.ok is False else []


def autograd(example: Example, name: str, dtype: str) -> list[Any]:
    """The gradients that a framework finds by itself through its native kernel."""
    found = autodiff(OperatorRunner(framework(name)), in_dtype(example, dtype))
    assert found is not None
    return found
