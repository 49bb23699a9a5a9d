"""Converts the messages of an ONNX file to NumPy arrays and Python values."""

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
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error, Unsupported
from ..graph.shape_inference import BATCH

CONSTANT_DTYPES = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}


def array(tensor: onnx.TensorProto) -> np.ndarray:
    """A tensor's values; its shape is checked against its data before anything of that size is allocated."""
    dtype = _dtype(tensor.data_type, tensor.name)
    element_count = math.prod(tensor.dims)
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise Deep500Error(
            f"the tensor {tensor.name!r} is in another file: give the path of the model"
        )
    if any(size < 0 for size in tensor.dims):
        raise Deep500Error(
            f"the tensor {tensor.name!r} has the negative shape {tuple(tensor.dims)}"
        )
    width = bits(dtype)
    packed = 1  # elements that share a byte, or a number of int32_data
    if width < 8:
        packed = 8 // width
    if tensor.HasField("raw_data"):
        stored = len(tensor.raw_data) * 8 / width
    else:
        stored = _typed_length(tensor) * packed
    if not element_count <= stored < element_count + packed:
        raise Deep500Error(
            f"the tensor {tensor.name!r} of shape {tuple(tensor.dims)} has data for {stored:g} elements"
        )
    return np.array(onnx.numpy_helper.to_array(tensor))


def _typed_length(tensor: onnx.TensorProto) -> int:
    """The number of entries in the field that holds the data."""
    return max(
        len(tensor.float_data),
        len(tensor.double_data),
        len(tensor.int32_data),
        len(tensor.int64_data),
    )


def _dtype(number: int, name: str) -> str:
    if number == onnx.TensorProto.STRING:
        raise Unsupported(f"{name!r} is of strings; only numbers can be read")
    if number in NAMES:
        return NAMES[number]
    dtype = f"type {number}"
    for onnx_name, onnx_number in onnx.TensorProto.DataType.items():
        if onnx_number == number:
            dtype = onnx_name.lower()
    raise Unsupported(f"{name!r} is of {dtype}; those that can be read: {listed(ALL)}")


def tensor(value: onnx.ValueInfoProto) -> TensorSpec:
    """Shape and dtype of an input; a dimension without a size gets a name, the first one that of the batch."""
    tensor_type = value.type.tensor_type
    is_tensor = value.type.HasField("tensor_type")
    if not is_tensor or not tensor_type.HasField("shape"):
        raise Unsupported(f"the input {value.name!r} is no tensor of known shape")
    shape: list[int | str] = []
    for axis, dimension in enumerate(tensor_type.shape.dim):
        size = _dimension(value.name, axis, dimension)
        shape.append(size)
    sizes = [size for size in shape if isinstance(size, int)]
    if min(sizes, default=0) < 0:
        raise Unsupported(
            f"the input {value.name!r} has the negative shape {tuple(shape)}"
        )
    dtype = _dtype(tensor_type.elem_type, value.name)
    return TensorSpec(tuple(shape), dtype)


def _dimension(name: str, axis: int, dimension: Any) -> int | str:
    if dimension.HasField("dim_value") and (dimension.dim_value or axis):
        return dimension.dim_value
    if dimension.dim_param:
        return dimension.dim_param
    if axis == 0:
        return BATCH
    return f"{name}.{axis}"


def check_type(value: onnx.ValueInfoProto) -> None:
    """Raise `Unsupported` for a declared type that is no tensor of numbers."""
    if value.type.WhichOneof("value") not in (None, "tensor_type"):
        raise Unsupported(f"{value.name!r} is no tensor")
    number = value.type.tensor_type.elem_type
    if number:
        _dtype(number, value.name)


def static_value(array: np.ndarray, annotation: Any) -> Any:
    """The Python value of an array that an operator takes as a static input, as the annotation asks for it.

    An annotation that allows NumPy scalars gets one where a Python number would lose the dtype.
    """
    return canonical(array.reshape(-1), annotation)


def constant(node: onnx.NodeProto) -> np.ndarray:
    """The value of a Constant node, whichever attribute holds it."""
    for attribute in node.attribute:
        if attribute.name == "value":
            return array(attribute.t)
        dtype = CONSTANT_DTYPES.get(attribute.name)
        if dtype is not None:
            number = onnx.helper.get_attribute_value(attribute)
            return np.array(number, dtype)
    raise Unsupported(f"node {label(node)} is a Constant without numbers")


def attribute_values(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes of a node by name, as onnx converts them."""
    values = {}
    for attribute in node.attribute:
        values[attribute.name] = onnx.helper.get_attribute_value(attribute)
    return values


def value(attribute: onnx.AttributeProto, node: onnx.NodeProto) -> Any:
    """An attribute as a Python value; a float is the shortest one that is the same number in float32.

    A tensor of one element is a NumPy scalar, which keeps its dtype.
    """
    types = onnx.AttributeProto
    plain = {
        types.INT,
        types.INTS,
        types.FLOAT,
        types.FLOATS,
        types.STRING,
        types.STRINGS,
    }
    if attribute.type == types.TENSOR and math.prod(attribute.t.dims) == 1:
        elements = array(attribute.t).reshape(-1)
        return elements[0]
    if attribute.type not in plain:
        raise Unsupported(
            f"the attribute {attribute.name!r} of node {label(node)} is neither numbers nor text"
        )
    content = onnx.helper.get_attribute_value(attribute)
    if isinstance(content, bytes):
        return content.decode("utf-8", "replace")
    if attribute.type == types.STRINGS:
        return tuple(text.decode("utf-8", "replace") for text in content)
    if isinstance(content, int | float):
        return _shortest(content)
    return tuple(map(_shortest, content))


def _shortest(number: Any) -> Any:
    """A float as the shortest decimal that is the same number in float32."""
    if not isinstance(number, float):
        return number
    decimal = str(np.float32(number))
    return float(decimal)


def label(node: onnx.NodeProto) -> str:
    """What to call a node in messages: its name, or its operator and outputs."""
    if node.name:
        return repr(node.name)
    outputs = ", ".join(node.output)
    return repr(f"{node.op_type} → {outputs}")
