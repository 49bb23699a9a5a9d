"""Does half of the rows."""

import numpy as np


def kernel(x):
    y = np.empty_like(x)
    half = x[::2]
    e = np.exp(half - half.max(axis=1, keepdims=True))
    y[::2] = e / e.sum(axis=1, keepdims=True)
    return y
