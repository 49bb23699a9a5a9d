"""Every rule computes what its operator's formula does, forward and backward, for all of its cases."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.check.operators.examples import Example, examples_of
from deep500.contracts.transport import Program
from deep500.fixed.namespace import FixedNamespace, NotFixed
from deep500.fixed.rules import RULES
from deep500.fixed.rules.base import NodePlace, Ran, Run
from deep500.fixed.sums import Part, Target
from deep500.frameworks import framework
from deep500.graph.graph import Node

BY_OTHER_TESTS = ("BatchNormalization", "Dropout")  # ranks; random draws


def target(subject: str, total: np.ndarray, scale: float) -> Target:
    return Target(total, scale, 2.0**51)


def no_ranks(arrays: Any) -> Program:
    yield from ()


def place_of(operator: Any, inputs: list[Any]) -> NodePlace:
    names = tuple(
        f"x{i}" if isinstance(value, np.ndarray) else value
        for i, value in enumerate(inputs)
    )
    node = Node("node", operator, names, ("y",))
    floats = [i for i, v in enumerate(inputs) if getattr(v, "dtype", None) == "float32"]
    rule = RULES[type(operator).__name__]
    batched = frozenset({1} if type(operator).__name__ == "Gather" else {0})
    return NodePlace(node, rule, frozenset(floats), {}, batched)


EXAMPLES: list[Example] = []
for name in RULES:
    if name not in BY_OTHER_TESTS:
        EXAMPLES.extend(examples_of(getattr(d5.operators, name)))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_rule_of_an_example(example: Example) -> None:
    operator, inputs = example.operator, [*example.inputs]
    if any(getattr(value, "dtype", None) == np.float64 for value in inputs):
        inputs = [_narrow(value) for value in inputs]
    place = place_of(operator, inputs)
    if missing := place.rule.lacks(operator, place):
        pytest.skip(f"not {missing}")
    if not inputs[0].ndim:
        pytest.skip("not without an axis of examples")
    rows = len(inputs[0])
    run = Run(Part(0, rows, 16, rows), rows, 1, 40, target, no_ranks, {})
    try:
        results, saved = place.rule.forward(run, place, inputs)
    except NotFixed as error:
        pytest.skip(str(error))
    reference = framework("reference")
    expected = reference.evaluate(operator, inputs)
    for mine, theirs in zip(results, expected, strict=False):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=2e-6)
    random = np.random.default_rng(0)
    slopes = [
        random.standard_normal(y.shape).astype(y.dtype)
        if y.dtype.kind == "f" and i < len(results)
        else None
        for i, y in enumerate(expected)
    ]
    pulled = place.rule.backward(Ran(run, place, saved, slopes))
    gradients = reference.gradient(operator, inputs, slopes)
    for position, gradient in enumerate(gradients):
        mine = pulled.get(position)
        if mine is not None and gradient is not None:
            np.testing.assert_allclose(mine, gradient, rtol=1e-5, atol=1e-5)


def _narrow(value: Any) -> Any:
    is_wide = getattr(value, "dtype", None) == np.float64
    return value.astype(np.float32) if is_wide else value


def test_the_namespace_computes_in_float32() -> None:
    assert FixedNamespace().exp(np.zeros(2, np.float32)).dtype == np.float32
