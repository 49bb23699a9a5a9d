"""Every input of a call has the name of the parameter that it is for."""

from typing import Any

import pytest

import deep500 as d5
from deep500.contracts.operator import Operator
from deep500.errors import Deep500Error
from deep500.registry import find, known


class Pick(Operator):
    """A fixed input, then any number of further ones."""

    def forward(self, xp, index, *xs: object):
        return xs[0]


def test_a_variadic_parameter_names_all_the_rest() -> None:
    assert Pick.input_names(1) == ["index"]
    assert Pick.input_names(4) == ["index", "xs", "xs", "xs"]
    (name,) = d5.operators.Concat.inputs
    assert d5.operators.Concat(axis=0).input_names(3) == [name] * 3


def test_optional_inputs_may_be_left_out_at_the_end() -> None:
    names = [*d5.operators.Gemm.inputs]
    assert [d5.operators.Gemm.input_names(n) for n in (0, 2, 3)] == [
        [],
        names[:2],
        names,
    ]


def test_too_many_inputs_are_refused() -> None:
    with pytest.raises(
        Deep500Error, match=r"Relu takes 1 inputs \(x\), and 2 are given"
    ):
        d5.operators.Relu.input_names(2)


def test_a_key_stands_behind_the_inputs_of_a_random_operator() -> None:
    dropout = d5.operators.Dropout
    count = len(dropout.inputs)
    assert dropout.input_names(count + 1) == [*dropout.inputs, "key"]
    assert d5.operators.RandomNormal.input_names(1) == ["key"]
    with pytest.raises(Deep500Error, match=f"and {count + 2} are given"):
        dropout.input_names(count + 2)


def test_variadic_inputs_are_never_static() -> None:
    assert Pick.static == frozenset()


@pytest.mark.parametrize("name", known("operators"))
def test_every_operator_names_its_own_parameters(name: str) -> None:
    operator: Any = find("operators", name)
    assert operator.input_names(len(operator.inputs)) == [*operator.inputs]
