"""Uniformly distributed values that keep the variance of signals and of gradients (Glorot and Bengio, 2010)."""

import math
from collections.abc import Sequence

import numpy as np

from ..contracts.initializer import Initializer, fans, random_of


class GlorotUniform(Initializer):
    """Between -b and b, b = sqrt(6 / (inputs + outputs)): variance 2 / (inputs + outputs)."""

    def array(
        self, shape: Sequence[int], seed: int, name: str, dtype: str = "float32"
    ) -> np.ndarray:
        bound = math.sqrt(6 / sum(fans(shape, name)))
        values = random_of(seed, name).uniform(-bound, bound, tuple(shape))
        return values.astype(dtype)
