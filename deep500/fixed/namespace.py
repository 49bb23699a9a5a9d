"""The namespace of array functions with fixed bits, in which formulas run."""

from typing import Any

import numpy as np

from ..errors import Unsupported
from ..frameworks.reference.namespace import NumpyNamespace
from ..namespace import Axis, Namespace, count, ints
from .library import call
from .products import matmul

FLOAT = np.dtype(np.float32)


class NotFixed(Unsupported):
    """There is no kernel with fixed bits; the message says for what."""


class FixedNamespace(NumpyNamespace):
    """NumPy's functions where IEEE 754 leaves no choice (+, -, *, /, sqrt, comparisons), ours for all others.

    NumPy's own exp, tanh, sums … differ by the processor. Float32 only.
    """

    expm1, log1p = Namespace.expm1, Namespace.log1p
    sinh, cosh = Namespace.sinh, Namespace.cosh

    def exp(self, x: Any) -> Any:
        return _mapped("exp_", x)

    def log(self, x: Any) -> Any:
        return _mapped("log_", x)

    def tanh(self, x: Any) -> Any:
        return _mapped("tanh_", x)

    def erf(self, x: Any) -> Any:
        return _mapped("erf_", x)

    def sigmoid(self, x: Any) -> Any:
        return _mapped("sigmoid_", x)

    def sum(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        x = np.asarray(x)
        if x.dtype.kind in "biu":
            return super().sum(x, axis, keepdims)
        _check_float("a sum", x)
        axes = {*range(x.ndim)}
        if axis is not None:
            axes = {a % x.ndim for a in ints(axis)}
        kept = [a for a in range(x.ndim) if a not in axes]
        width = count(x.shape, sorted(axes)) if axes else 1
        rows = np.ascontiguousarray(x.transpose(*kept, *sorted(axes)))
        y = np.empty([x.shape[a] for a in kept], FLOAT)
        call("sum_rows", y.size, width, rows, y)
        if not keepdims:
            return y
        return y.reshape([1 if a in axes else n for a, n in enumerate(x.shape)])

    def matmul(self, a: Any, b: Any) -> Any:
        _check_float("a product", a)
        _check_float("a product", b)
        return matmul(a, b)

    def uniform(self, key: Any, shape: Any) -> Any:
        """As Namespace.uniform, in C++."""
        rows = shape[0] if shape else 1
        y = np.empty(shape, FLOAT)
        width = y.size // max(rows, 1)
        call("uniform", rows, width, np.asarray(key, np.int64), y)
        return y


def _refused(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotFixed(f"{name} has no kernel with fixed bits")

    return refuse


for _name in (
    *("sin", "cos", "asin", "acos", "atan", "pow", "prod", "fmod"),
    *("einsum", "cumulative_sum"),
):
    setattr(FixedNamespace, _name, staticmethod(_refused(_name)))


def _mapped(kernel: str, x: Any) -> np.ndarray:
    x = np.asarray(x, order="C")
    _check_float(kernel.rstrip("_"), x)
    y = np.empty(x.shape, FLOAT)
    call(kernel, x, y, x.size)
    return y


def _check_float(subject: str, x: Any) -> None:
    if np.asarray(x).dtype != FLOAT:
        raise NotFixed(
            f"{subject} of {np.asarray(x).dtype} has no kernel with fixed bits, which are for float32"
        )
