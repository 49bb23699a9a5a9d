"""Computes in half precision, which is half the work."""

import numpy as np


def kernel(x):
    x = x.astype(np.float16)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).astype(np.float32)
