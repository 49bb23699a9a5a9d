"""A problem whose numbers are denormal, and held to a relative tolerance alone."""

import numpy as np

TOLERANCE = (1e-3, 0.0)


def inputs(rng):
    return [rng.uniform(1e-39, 1e-38, (64, 96)).astype(np.float32)]


def reference(x):
    return x * np.float32(0.5)
