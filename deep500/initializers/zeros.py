"""Initialises all elements with 0, as is usual for biases."""

from collections.abc import Sequence

import numpy as np

from ..contracts.initializer import Initializer


class Zeros(Initializer):
    """0 for every element."""

    def array(
        self, shape: Sequence[int], seed: int, name: str, dtype: str = "float32"
    ) -> np.ndarray:
        return np.zeros(tuple(shape), dtype)
