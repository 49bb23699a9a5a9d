"""The checks see what they are there to see: planted errors are found on every operator they fit, and no others."""

import random

import numpy as np
import pytest

from deep500.check.operators.checks import checks
from deep500.check.operators.runner import OperatorRunner
from deep500.contracts.operator import Operator

from .checking import Example, derivative_faults, examples, in_dtype
from .planted import (
    ERRORS,
    ForgottenBroadcasting,
    MissingAccumulation,
    OffByOneWindow,
    Planted,
    UnsummedGradient,
    off,
)

EXAMPLES = [e for e in examples() if any(y.size for y in e.outputs)]
SAMPLE = random.Random(5).sample(EXAMPLES, 12)
errors = pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)


def wrong(dock: OperatorRunner, example: Example) -> list[str]:
    return [
        f"{check.name}: {check.text}"
        for check in checks(dock, example)
        if check.ok is False
    ]


def fitting(
    error: type[Planted], among: list[Example]
) -> list[tuple[Planted, Example]]:
    """The examples that the error applies to, in float32, each with a kernel that has it."""
    pairs = [(error(), in_dtype(e, "float32")) for e in among]
    return [(spoilt, e) for spoilt, e in pairs if spoilt.applies(e)]


@errors
def test_a_planted_error_is_found(error: type[Planted]) -> None:
    windowed = [
        e
        for e in EXAMPLES
        if e.name
        in ("Conv-0", "MaxPool-0", "Add-0", "Mul-1", "Gather-1", "AveragePool-0")
    ]
    found = fitting(error, [*SAMPLE, *windowed])
    assert found and [e.name for spoilt, e in found if not wrong(spoilt, e)] == []


@pytest.mark.slow
@errors
def test_a_planted_error_is_found_on_every_operator_that_it_fits(
    error: type[Planted],
) -> None:
    assert [
        e.name for spoilt, e in fitting(error, EXAMPLES) if not wrong(spoilt, e)
    ] == []


def test_the_planted_errors_meet_operators() -> None:
    for error, names in (
        (OffByOneWindow, {"Conv", "MaxPool"}),
        (MissingAccumulation, {"Add", "Gather", "AveragePool"}),
        (UnsummedGradient, {"Add", "Mul"}),
        (ForgottenBroadcasting, {"Add", "Mul"}),
    ):
        found = fitting(
            error, [e for e in EXAMPLES if type(e.operator).__name__ in names]
        )
        assert {type(e.operator).__name__ for _, e in found} == names


@pytest.mark.parametrize("example", SAMPLE, ids=lambda e: e.name)
def test_a_kernel_without_errors_is_right(example: Example) -> None:
    assert wrong(Planted(), in_dtype(example, "float32")) == []


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(e, id=e.name, marks=[pytest.mark.slow] * (e not in SAMPLE))
        for e in EXAMPLES
        if e.smooth
    ],
)
def test_a_wrong_derivative_is_found_by_differences(example: Example) -> None:
    right = in_dtype(example, "float64").gradients
    for k in [k for k, g in enumerate(right) if g is not None and np.any(g)]:
        for spoilt in (-right[k], off(right[k])):
            assert derivative_faults(example, [*right[:k], spoilt, *right[k + 1 :]])


def test_a_definition_whose_names_clash_is_refused() -> None:
    with pytest.raises(TypeError, match="name both an input and an output"):

        class Clash(Operator):
            def forward(self, xp, y):
                return y
