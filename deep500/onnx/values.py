"""What stands in ONNX's messages, as NumPy arrays and Python values."""

import math
from typing import Any

import numpy as np
import onnx

from ..canonical import canonical
from ..contracts.dtypes import (
    ALL,
    NAMES,
    bits,
    listed,
)
from ..contracts.operator import Tensor
from ..contracts.shape_inference import BATCH
from ..errors import Deep500Error, Unsupported


def array(tensor: onnx.TensorProto) -> np.ndarray:
    """A tensor's values; its shape is compared with its data before anything of that size is made."""
    dtype = _dtype(tensor.data_type, tensor.name)
    wanted = math.prod(tensor.dims)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise Deep500Error(
            f"the tensor {tensor.name!r} is in another file: give the path of the model"
        )
    if any(n < 0 for n in tensor.dims):
        raise Deep500Error(
            f"the tensor {tensor.name!r} has the negative shape {tuple(tensor.dims)}"
        )
    typed = max(
        len(tensor.float_data),
        len(tensor.double_data),
        len(tensor.int32_data),
        len(tensor.int64_data),
    )
    width = bits(dtype)
    packed = (
        8 // width if width < 8 else 1
    )  # elements that share a byte, or a number of int32_data
    there = (
        len(tensor.raw_data) * 8 / width
        if tensor.HasField("raw_data")
        else typed * packed
    )
    if not wanted <= there < wanted + packed:
        raise Deep500Error(
            f"the tensor {tensor.name!r} of shape {tuple(tensor.dims)} has data for {there:g} elements"
        )
    return np.array(onnx.numpy_helper.to_array(tensor))


def _dtype(number: int, name: str) -> str:
    if number == onnx.TensorProto.STRING:
        raise Unsupported(f"{name!r} is of strings; only numbers can be read")
    if number not in NAMES:
        known = {value: key.lower() for key, value in onnx.TensorProto.DataType.items()}
        dtype = known.get(number, f"type {number}")
        raise Unsupported(
            f"{name!r} is of {dtype}; those that can be read: {listed(ALL)}"
        )
    return NAMES[number]


def tensor(value: onnx.ValueInfoProto) -> Tensor:
    """Shape and dtype of an input; a dimension without a size has its name, and the first one is the batch."""
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not kind.HasField("shape"):
        raise Unsupported(f"the input {value.name!r} is no tensor of known shape")
    shape = [_dimension(value.name, axis, d) for axis, d in enumerate(kind.shape.dim)]
    if any(isinstance(n, int) and n < 0 for n in shape):
        raise Unsupported(
            f"the input {value.name!r} has the negative shape {tuple(shape)}"
        )
    return Tensor(tuple(shape), _dtype(kind.elem_type, value.name))


def _dimension(name: str, axis: int, dimension: Any) -> int | str:
    if dimension.HasField("dim_value") and (dimension.dim_value or axis):
        return dimension.dim_value
    return dimension.dim_param or (BATCH if axis == 0 else f"{name}.{axis}")


def check_type(value: onnx.ValueInfoProto) -> None:
    """Refuse a declared type that nothing here computes with."""
    if value.type.WhichOneof("value") not in (None, "tensor_type"):
        raise Unsupported(f"{value.name!r} is no tensor")
    if number := value.type.tensor_type.elem_type:
        _dtype(number, value.name)


def static_value(array: np.ndarray, annotation: Any) -> Any:
    """An input that an operator takes as a Python value: numbers by its annotation, in tuples if that is one.

    One that takes NumPy's scalars too gets those where Python's numbers would lose the dtype.
    """
    return canonical(array.reshape(-1), annotation)


def constant(node: onnx.NodeProto) -> np.ndarray:
    """The value of a Constant node, in any of the ways that ONNX can write one."""
    for attribute in node.attribute:
        if attribute.name == "value":
            return array(attribute.t)
        if attribute.name in ("value_float", "value_floats", "value_int", "value_ints"):
            dtype = np.float32 if "float" in attribute.name else np.int64
            return np.array(onnx.helper.get_attribute_value(attribute), dtype)
    raise Unsupported(f"node {label(node)} is a Constant without numbers")


def value(attribute: onnx.AttributeProto, node: onnx.NodeProto) -> Any:
    """An attribute in Python; a float is the shortest one that is the same in float32, as its writer meant it.

    A tensor of one element is a NumPy scalar, which knows its dtype.
    """
    plain = {
        onnx.AttributeProto.INT,
        onnx.AttributeProto.INTS,
        onnx.AttributeProto.FLOAT,
        onnx.AttributeProto.FLOATS,
        onnx.AttributeProto.STRING,
        onnx.AttributeProto.STRINGS,
    }
    if (
        attribute.type == onnx.AttributeProto.TENSOR
        and math.prod(attribute.t.dims) == 1
    ):
        return array(attribute.t).reshape(-1)[0]
    if attribute.type not in plain:
        raise Unsupported(
            f"the attribute {attribute.name!r} of node {label(node)} is neither numbers nor text"
        )
    given = onnx.helper.get_attribute_value(attribute)
    if isinstance(given, bytes):
        return given.decode("utf-8", "replace")
    if attribute.type == onnx.AttributeProto.STRINGS:
        return tuple(text.decode("utf-8", "replace") for text in given)
    return (
        _shortest(given)
        if isinstance(given, int | float)
        else tuple(map(_shortest, given))
    )


def _shortest(number: Any) -> Any:
    return float(str(np.float32(number))) if isinstance(number, float) else number


def label(node: onnx.NodeProto) -> str:
    return repr(node.name or f"{node.op_type} → {', '.join(node.output)}")
