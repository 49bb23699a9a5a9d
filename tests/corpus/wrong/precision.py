"""Fewer digits than the dtype has, or another dtype than the input's."""

import ml_dtypes
import numpy as np

import deep500 as d5


def half_inside(x):
    """Computed in float16, returned as what came."""
    with np.errstate(over="ignore"):
        return (x.astype("float16") * np.float16(2)).astype(x.dtype)


def bfloat_inside(x):
    return np.tanh(x.astype(ml_dtypes.bfloat16)).astype(x.dtype)


def single_inside(x):
    """float64 takes the way through float32, and float32 is exact."""
    with np.errstate(over="ignore"):
        return np.tanh(x.astype("float32")).astype(x.dtype)


def quantised(x):
    """Thousandths."""
    return np.round(np.tanh(x), 3)


def off_by_a_ten_thousandth(x):
    """In float32 alone: float64 is right."""
    y = np.tanh(x)
    return y * x.dtype.type(1.0001) if x.dtype == np.float32 else y


def wide_output(x):
    """float64, whatever came."""
    return np.tanh(x).astype("float64")


def narrow_output(x):
    """float32, whatever came."""
    return np.tanh(x).astype("float32")


def rough_pi(x):
    return x * x.dtype.type(3.14159)


def half_accumulator(x):
    """The sum of a row is kept in float16."""
    with np.errstate(over="ignore"):
        return x.astype("float16").sum(-1, dtype="float16").astype(x.dtype)


def table_of_sines(x):
    """Looked up in a table of 4096 values, without interpolation."""
    table = np.sin(np.arange(4096) * (2 * np.pi / 4096))
    with np.errstate(invalid="ignore"):
        place = np.round(x * (4096 / (2 * np.pi))) % 4096
        value = table[np.nan_to_num(place).astype(int)].astype(x.dtype)
    return np.where(np.isfinite(x), value, x.dtype.type(np.nan))


class HalfGradient(d5.CustomPythonOp):
    """The gradient alone is computed in float16."""

    def forward(self, inputs):
        return inputs[0] ** 3

    def backward(self, grads, fwd_inputs, fwd_outputs):
        with np.errstate(over="ignore"):
            slope = (3 * fwd_inputs[0] ** 2).astype("float16")
        return grads[0] * slope.astype(fwd_inputs[0].dtype)
