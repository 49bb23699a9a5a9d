"""Normally distributed values whose deviation is the same for every layer."""

from collections.abc import Sequence

import numpy as np

from ..contracts.initializer import Initializer, random_of


class Normal(Initializer):
    """Mean 0, standard deviation `deviation`."""

    deviation: float = 0.02

    def array(
        self, shape: Sequence[int], seed: int, name: str, dtype: str = "float32"
    ) -> np.ndarray:
        values = random_of(seed, name).standard_normal(tuple(shape))
        return (values * self.deviation).astype(dtype)
