"""Products of matrices whose every element is added up in the order of the inner axis, by fused multiply-adds."""

from math import prod

import numpy as np

from .library import call


def matmul(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """a @ b in float32, plus a bias for every column; leading axes are as in np.matmul."""
    rows, depth = a.shape[-2:]
    columns = b.shape[-1]
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    y = np.empty((*leading, rows, columns), np.float32)
    a, b = _stacked(a, leading), _stacked(b, leading)
    sizes = prod(leading), rows, columns, depth
    call("product", *sizes, a, *_strides(a), b, *_strides(b), bias, y)
    return y


def _stacked(x: np.ndarray, leading: tuple[int, ...]) -> np.ndarray:
    """A matrix, or a stack of as many as the leading axes have."""
    if x.ndim == 2:
        return x
    if x.shape[:-2] != leading:
        x = np.broadcast_to(x, (*leading, *x.shape[-2:]))
    return x.reshape(-1, *x.shape[-2:])


def _strides(x: np.ndarray) -> list[int]:
    """In elements; a single matrix is the same for the whole stack."""
    strides = [stride // 4 for stride in x.strides]
    return strides if x.ndim == 3 else [0, *strides]
