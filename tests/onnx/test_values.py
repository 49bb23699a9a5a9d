"""Tensors of every dtype out of ONNX's messages, against ONNX's own writing of them."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from deep500.contracts.dtypes import ALL, NAMES
from deep500.errors import Deep500Error, Unsupported
from deep500.formats.onnx import Onnx
from deep500.onnx.values import array, static_value

read = Onnx().read


@pytest.mark.parametrize("dtype", sorted(ALL))
@pytest.mark.parametrize("shape", [(3, 2), (5,), (), (0,)])
def test_every_dtype_is_read(dtype: str, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape))
    wanted = np.arange(1, size + 1).astype("int32").astype(dtype).reshape(shape)
    got = array(numpy_helper.from_array(wanted, "w"))
    assert got.dtype == wanted.dtype and got.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("dtype", "data", "right"),
    [
        (TensorProto.INT4, [0x2F, 0x07], [-1, 2, 7]),
        (TensorProto.UINT4, [0x2F, 0x07], [15, 2, 7]),
        (TensorProto.UINT2, [0b100111], [3, 1, 2]),
        (TensorProto.BFLOAT16, [0x3F80, 0xC000, 0], [1, -2, 0]),
        (TensorProto.FLOAT8E5M2, [0x3C, 0xC0, 0x7C], [1, -2, np.inf]),
    ],
)
def test_packed_numbers_are_read(
    dtype: int, data: list[int], right: list[float]
) -> None:
    tensor = TensorProto(data_type=dtype, dims=[3], name="w", int32_data=data)
    assert array(tensor).astype("float64").tolist() == right
    tensor.int32_data.append(0)
    with pytest.raises(Deep500Error, match="'w' of shape .3,. has data for"):
        array(tensor)
    with pytest.raises(Deep500Error, match="'w' of shape .3,. has data for 0 elements"):
        array(TensorProto(data_type=dtype, dims=[3], name="w", raw_data=b""))


@pytest.mark.parametrize(
    "number", [n for n in TensorProto.DataType.values() if n not in NAMES]
)
def test_other_types_are_refused_by_name(number: int) -> None:
    with pytest.raises(Unsupported, match="^'w' is of [a-z]"):
        array(TensorProto(data_type=number, dims=[0], name="w"))


def test_a_static_number_keeps_its_dtype_where_that_is_asked_for() -> None:
    assert type(static_value(np.array(2, "int16"), float | np.generic)) is np.int16
    assert type(static_value(np.array(2, "int64"), float | np.generic)) is int
    assert type(static_value(np.array(2, "int16"), float)) is float
    assert static_value(np.array(2**53 + 1), float) == 2**53 + 1  # which no float is


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int16", "float64"])
def test_a_range_has_the_dtype_that_its_file_says(dtype: str) -> None:
    numbers = [
        numpy_helper.from_array(np.asarray(np.array(v).astype(dtype)), n)
        for v, n in zip((1, 6, 2), "abc", strict=True)
    ]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        [helper.make_node("Range", list("abc"), ["y"])],
        "g",
        [],
        [helper.make_tensor_value_info("y", kind, [3])],
        numbers,
    )
    opset = onnx.defs.onnx_opset_version()
    network = read(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    )
    from deep500.frameworks import framework

    for name in ("reference", "pytorch", "onnxruntime"):
        fw = framework(name)
        got = fw.array(fw.executor(network).inference({})["y"])
        assert got.dtype == dtype and got.tolist() == [1, 3, 5], name
