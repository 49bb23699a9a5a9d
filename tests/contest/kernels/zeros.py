"""Returns zeros, which are fast."""

import numpy as np


def kernel(x):
    return np.zeros_like(x)
