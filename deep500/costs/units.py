"""Counts, bytes and shapes as short texts."""

from ..contracts.operator import TensorSpec
from ..reports.tables import NOTHING

PREFIXES = {"T": 10**12, "G": 10**9, "M": 10**6, "k": 10**3}
BINARY = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10}


def amount(count: float | None, unit: str = "") -> str:
    """1234567 is "1.23 M"."""
    if count is None:
        return NOTHING
    for prefix, scale in PREFIXES.items():
        if count >= scale:
            scaled = count / scale
            return f"{scaled:.3g} {prefix}{unit}"
    return f"{count:.3g} {unit}".rstrip()


def nbytes(count: float | None) -> str:
    """1048576 is "1 MiB"."""
    if count is None:
        return NOTHING
    for unit, scale in BINARY.items():
        if count >= scale:
            scaled = count / scale
            return f"{scaled:.3g} {unit}"
    return f"{count:.0f} B"


def shape_text(tensor: TensorSpec | None) -> str:
    """8x3x32x32, with the dtype where it is not float32."""
    if tensor is None:
        return "?"
    sizes = "x".join(map(str, tensor.shape)) or "scalar"
    if tensor.dtype == "float32":
        return sizes
    return f"{tensor.dtype} {sizes}"
