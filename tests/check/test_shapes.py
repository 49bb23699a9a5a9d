"""The one syntax for inputs: what it means, and what it refuses."""

import numpy as np
import pytest

from deep500 import operators
from deep500.check.operators.shape_text import inputs_of
from deep500.check.operators.subjects import function_operator
from deep500.errors import Deep500Error


@pytest.mark.parametrize(
    ("operator", "shape", "kinds"),
    [
        (operators.MatMul(), "2x3,3x4", [(2, 3), (3, 4)]),
        (operators.Relu(), "()", [()]),
        (operators.Conv(), "1x2x5x5,3x2x3x3,-", [(1, 2, 5, 5), (3, 2, 3, 3), None]),
        (operators.Gather(), "5x2,int64<5:3", [(5, 2), (3,)]),
    ],
)
def test_shapes_are_read(operator, shape, kinds):
    found = inputs_of(operator, shape, "float64", 0)
    assert [None if x is None else x.shape for x in found] == kinds
    assert found[0].dtype == "float64"
    other = inputs_of(operator, shape, "float64", 1)
    assert found[0].size == 1 or not np.array_equal(found[0], other[0])


def test_static_inputs_are_values():
    assert inputs_of(operators.Reshape(), "2x3,=[3,2]", "float32", 0)[1] == (3, 2)


def test_the_inputs_of_a_plain_function_are_arrays():
    operator = function_operator(np.add, lambda a, b: a + b, "reference")
    assert [x.shape for x in inputs_of(operator, "2x3,2x3", "float32", 0)] == [
        (2, 3),
        (2, 3),
    ]


def test_variadic_inputs_are_arrays():
    found = inputs_of(operators.Concat(axis=0), "2x3,4x3,1x3", "float32", 0)
    assert [x.shape for x in found] == [(2, 3), (4, 3), (1, 3)]


def test_values_can_be_scaled():
    plain, scaled = (
        inputs_of(operators.Relu(), shape, "float32", 0)[0]
        for shape in ("2x3", "0.5*2x3")
    )
    np.testing.assert_array_equal(scaled, plain / 2)


def test_values_can_be_written_out():
    ones, twos = inputs_of(operators.Add(), "=[[1,1]],=[2.0,2.0]", "float16", 0)
    np.testing.assert_array_equal(ones, [[1, 1]])
    assert ones.dtype == "int64" and twos.dtype == "float16"


def test_integers_have_a_range():
    indices, numbers, truths = (
        inputs_of(operators.Identity(), f"{kind}:50x50", "float32", 0)[0]
        for kind in ("int64<9", "int32", "bool")
    )
    assert (indices.dtype, numbers.dtype, truths.dtype) == ("int64", "int32", "bool")
    assert set(indices.flat) == set(range(9))
    assert set(numbers.flat) == {*range(-7, 0), *range(1, 8)}
    assert set(truths.flat) == {False, True}


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("2y3,3x4", "'2y3' is no shape: write one per input"),
        ("2x3", "takes the inputs a, b, and --shape describes 1"),
        ("2x3,3x4,4x5", "and --shape describes 3"),
        ("", "and --shape describes 1"),
        ("9999999x9999999,3x4", "more than 2^33 elements"),
        ("-2,3", "'-2' is no shape"),
        ("2x3:int64,3x4", "'2x3:int64' is no shape"),
        ("int65:2x3,3x4", "no dtype is named 'int65'; there are int64"),
        ("float32:2x3,3x4", "inputs of floats follow --dtype"),
        ("float8_e5m2:2x3,3x4", "no dtype is named 'float8_e5m2'"),
        ("int64<0:2x3,3x4", "no integer from 0 to below 0"),
        ("=[1;2],3x4", "'=[1;2]' is no value"),
        ("=[1,3x4", "and --shape describes 1"),
        ("=[[1],[1,2]],3x4", "is no array, such as"),
        ("={1:2},3x4", "is no array of numbers"),
    ],
)
def test_bad_shapes_are_one_line(shape, message):
    with pytest.raises(Deep500Error) as error:
        inputs_of(operators.MatMul(), shape, "float32", 0)
    assert message in str(error.value) and "\n" not in str(error.value)
