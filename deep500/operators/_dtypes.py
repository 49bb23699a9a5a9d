"""Conversions between dtypes, and the numbers that stand for dtypes in attributes such as Cast's `to`."""

from ..contracts.dtypes import FLOAT8, NAMES, bits
from ..errors import Unsupported
from ..namespace import kind


def dtype_of(number: int) -> str:
    """The dtype that this number of TensorProto.DataType stands for."""
    if number not in NAMES:
        known = ", ".join(f"{key} ({name})" for key, name in NAMES.items())
        raise Unsupported(f"ONNX's type {number} is not there; those that are: {known}")
    return NAMES[number]


def converted(xp, x, dtype, saturate=True, round_mode="up"):
    """x in another dtype; what is beyond a float8 becomes its largest number, or else infinite or not a number."""
    if dtype == "float8_e8m0fnu":
        return _power_of_two(xp, x, saturate, round_mode)
    if dtype in FLOAT8 and saturate:
        x = xp.where(
            x > FLOAT8[dtype], FLOAT8[dtype], xp.where(x < -FLOAT8[dtype], -FLOAT8[dtype], x)
        )
    if kind(x) == "float" and "int" in dtype and bits(dtype) < 8:
        x = xp.astype(x, "int32")  # of which the lowest bits stay
    return xp.astype(x, dtype)


def _power_of_two(xp, x, saturate, round_mode):
    """The exponent of x alone, of which a float8_e8m0fnu consists; 255 is not a number."""
    word = xp.bitcast(xp.astype(x, "float32"), "int32") & 0x7FFFFFFF
    exponent, rest = xp.shift_right(word, 23), word & 0x7FFFFF
    # a tie goes up; 0x400000 with exponent 0 is no tie but 2^-127, the smallest number itself
    half = 0x400000 + xp.astype(exponent == 0, "int32")
    up = rest > 0 if round_mode == "up" else rest >= half if round_mode == "nearest" else rest < 0
    exponent = exponent + xp.astype(up & (exponent < (254 if saturate else 255)), "int32")
    return xp.bitcast(xp.astype(exponent, "uint8"), "float8_e8m0fnu")
