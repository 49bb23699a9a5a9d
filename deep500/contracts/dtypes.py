"""The dtypes of ONNX, by the names that NumPy and ml_dtypes use."""

import re
from collections.abc import Collection
from typing import Any

import ml_dtypes  # noqa: F401 - registers the small types with NumPy

# by TensorProto.DataType
NAMES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
    25: "uint2",
    26: "int2",
}
NUMBERS = {name: number for number, name in NAMES.items()}
ALL = frozenset(NAMES.values())
FLOAT8 = {
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
}
"""The largest number of every float8 that has a sign."""
SMALL = frozenset(
    {
        *FLOAT8,
        "bfloat16",
        "float8_e8m0fnu",
        "float4_e2m1fn",
        "int2",
        "int4",
        "uint2",
        "uint4",
    }
)
PLAIN = ALL - SMALL  # those of NumPy itself


def name_of(dtype: Any) -> str:
    """The name of any framework's dtype: torch.float32, <dtype: 'float32'>, np.float32 and "float32" are one."""
    return re.findall(r"\w+", str(dtype))[-1]


def bits(name: str) -> int:
    """The width of an element in bits."""
    digits = re.search(r"\d+", name)
    if digits is None:  # a bool
        return 8
    return int(digits[0])


def limits(name: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer dtype."""
    n = bits(name)
    if name.startswith("uint"):
        return 0, 2**n - 1
    half = 2 ** (n - 1)
    return -half, half - 1


def listed(names: Collection[str]) -> str:
    """Names of dtypes for a message: floats first, wide before narrow."""
    return ", ".join(sorted(names, key=_order))


def _order(name: str) -> tuple[int, int]:
    kinds = [("float", "bfloat"), ("int",), ("uint",), ("bool",)]
    kind = next(i for i, prefixes in enumerate(kinds) if name.startswith(prefixes))
    return kind, -bits(name)
