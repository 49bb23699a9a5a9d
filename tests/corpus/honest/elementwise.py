"""Right, element by element: stable forms, kinks, domains, special values."""

import numpy as np
from scipy import special

import deep500 as d5


class Softplus(d5.CustomPythonOp):
    def forward(self, inputs):
        x = inputs[0]
        return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * special.expit(fwd_inputs[0])


class Sigmoid(d5.CustomPythonOp):
    """Two forms, each where it does not overflow."""

    def forward(self, inputs):
        x = inputs[0]
        e = np.exp(-np.abs(x))
        return np.where(x >= 0, 1 / (1 + e), e / (1 + e))

    def backward(self, grads, fwd_inputs, fwd_outputs):
        e = np.exp(-np.abs(fwd_inputs[0]))
        return grads[0] * e / (1 + e) ** 2


class Tanh(d5.CustomPythonOp):
    def forward(self, inputs):
        return np.tanh(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (1 - fwd_outputs[0]) * (1 + fwd_outputs[0])


class Gelu(d5.CustomPythonOp):
    def forward(self, inputs):
        x = inputs[0]
        return x * special.erfc(-x / x.dtype.type(np.sqrt(2))) / 2

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x = fwd_inputs[0].astype("float64")
        slope = special.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        return grads[0] * slope


class Log(d5.CustomPythonOp):
    domain = (0.01, 1e6)

    def forward(self, inputs):
        return np.log(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] / fwd_inputs[0]


class StrictLog(d5.CustomPythonOp):
    """Refuses what lies outside its domain."""

    domain = (1e-3, 1e3)

    def forward(self, inputs):
        if not np.all(inputs[0] > 0):
            raise ValueError("the logarithm takes positive numbers")
        return np.log(inputs[0])


class Sqrt(d5.CustomPythonOp):
    domain = (0.0, 1e6)

    def forward(self, inputs):
        return np.sqrt(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        with np.errstate(divide="ignore", invalid="ignore"):
            return grads[0] / (2 * fwd_outputs[0])


class ArcCosh(d5.CustomPythonOp):
    domain = (1.5, 1e3)

    def forward(self, inputs):
        return np.arccosh(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x = fwd_inputs[0]
        return grads[0] / np.sqrt((x - 1) * (x + 1))


class Atan2(d5.CustomPythonOp):
    num_inputs = 2
    domain = (0.1, 10.0)

    def forward(self, inputs):
        return np.arctan2(inputs[0], inputs[1])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        y, x = fwd_inputs
        square = x * x + y * y
        return grads[0] * x / square, -grads[0] * y / square


class Clip(d5.CustomPythonOp):
    """The gradient at the ends, where there is none, is that of the inside."""

    def forward(self, inputs):
        return np.clip(inputs[0], -1, 1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        inside = np.abs(fwd_inputs[0]) <= 1
        return np.where(inside, grads[0], 0)


class ReluOneAtZero(d5.CustomPythonOp):
    """1 is a subgradient at 0 as well."""

    def forward(self, inputs):
        return np.maximum(inputs[0], 0)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.where(fwd_inputs[0] >= 0, grads[0], 0)


class Absolute(d5.CustomPythonOp):
    def forward(self, inputs):
        return np.abs(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * np.sign(fwd_inputs[0])


class Where(d5.CustomPythonOp):
    """A condition has no gradient."""

    num_inputs = 3

    def forward(self, inputs):
        return np.where(*inputs)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        condition = fwd_inputs[0]
        return None, np.where(condition, grads[0], 0), np.where(condition, 0, grads[0])


class WideInside(d5.CustomPythonOp):
    """Works in float64 and rounds once."""

    def forward(self, inputs):
        x = inputs[0].astype("float64")
        return np.tanh(x).astype(inputs[0].dtype)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        slope = 1 / np.cosh(np.clip(fwd_inputs[0].astype("float64"), -350, 350)) ** 2
        return (grads[0] * slope).astype(fwd_inputs[0].dtype)


class Polynomial(d5.CustomPythonOp):
    domain = (-100.0, 100.0)

    def forward(self, inputs):
        x = inputs[0]
        return 3 * x * x + 2 * x + 1

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (6 * fwd_inputs[0] + 2)


class SignedZero(d5.CustomPythonOp):
    """No gradient: it is flat where it is not a step."""

    def forward(self, inputs):
        return np.copysign(np.ones_like(inputs[0]), inputs[0])


def erf(x):
    return special.erf(x)


def expm1(x):
    return np.expm1(x)


def log1p(x):
    with np.errstate(all="ignore"):
        return np.log1p(x)


def hypot(a, b):
    return np.hypot(a, b)


def reciprocal(x):
    with np.errstate(divide="ignore", over="ignore"):
        return 1 / x


def is_finite(x):
    """Booleans come out."""
    return ~(np.isnan(x) | np.isinf(x))


def rint(x):
    return np.round(x)


def increment(x):
    """Of integers, however large."""
    return x + np.ones((), x.dtype)


def floor(x):
    return np.floor(x)


class RintWithoutSlope(d5.CustomPythonOp):
    """Steps: the gradient is 0 but at the steps."""

    def forward(self, inputs):
        return np.rint(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return np.zeros_like(fwd_inputs[0])


class FastSine(d5.CustomPythonOp):
    """Bends quickly."""

    domain = (-3.0, 3.0)

    def forward(self, inputs):
        return np.sin(50 * inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * 50 * np.cos(50 * fwd_inputs[0])


class Exp(d5.CustomPythonOp):
    """Its values and slopes range over forty orders of magnitude."""

    domain = (-50.0, 50.0)

    def forward(self, inputs):
        return np.exp(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * fwd_outputs[0]


class Tiny(d5.CustomPythonOp):
    def forward(self, inputs):
        x = inputs[0]
        return (1e-30 * x.astype("float64")).astype(x.dtype)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return 1e-30 * grads[0].astype("float64")


class Offset(d5.CustomPythonOp):
    """A large constant takes most of the digits."""

    domain = (-1e3, 1e3)

    def forward(self, inputs):
        return inputs[0] + inputs[0].dtype.type(1e6)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0]


class Entropy(d5.CustomPythonOp):
    """x log x, which is 0 at 0."""

    domain = (0.0, 1e3)

    def forward(self, inputs):
        return special.xlogy(inputs[0], inputs[0])


class RefusesNonFinite(d5.CustomPythonOp):
    """As many routines of linear algebra do."""

    def forward(self, inputs):
        if not np.all(np.isfinite(inputs[0])):
            raise ValueError("inputs must not contain infs or NaNs")
        return np.tanh(inputs[0])

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * (1 - fwd_outputs[0] ** 2)


def logical_not(x):
    """Booleans in, booleans out."""
    return np.logical_not(x)
