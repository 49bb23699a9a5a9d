"""Normally distributed values that keep the variance of signals through layers with Relu (He et al., 2015)."""

import math
from collections.abc import Sequence

import numpy as np

from ..contracts.initializer import Initializer, fans, random_of


class HeNormal(Initializer):
    """Mean 0, variance 2 / inputs."""

    def array(
        self, shape: Sequence[int], seed: int, name: str, dtype: str = "float32"
    ) -> np.ndarray:
        inputs, _ = fans(shape, name)
        deviation = math.sqrt(2 / inputs)
        values = random_of(seed, name).standard_normal(shape)
        return (values * deviation).astype(dtype)
