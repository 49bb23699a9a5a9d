"""Custom operators on NumPy arrays, as they are."""

from ...custom.operators import CustomOp, HostFunction


def custom_op(op: CustomOp) -> HostFunction:
    """A function of NumPy arrays, with its `backward`."""
    return HostFunction(op)
