"""The dtypes that ONNX writes as numbers in attributes such as Cast's `to`."""

from ..errors import Unsupported

DTYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
          10: "float16", 11: "float64", 12: "uint32", 13: "uint64"}


def dtype_of(number: int) -> str:
    """The dtype that this number of TensorProto.DataType stands for."""
    if number not in DTYPES:
        known = ", ".join(f"{key} ({name})" for key, name in DTYPES.items())
        raise Unsupported(f"ONNX's type {number} is not there; those that are: {known}")
    return DTYPES[number]
