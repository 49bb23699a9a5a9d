"""An honest kernel: the same in single precision, in place."""

import numpy as np


def kernel(x):
    y = x - x.max(axis=1, keepdims=True)
    np.exp(y, out=y)
    y /= y.sum(axis=1, keepdims=True)
    return y
