"""Initialises all elements with one value."""

from collections.abc import Sequence

import numpy as np

from ..contracts.initializer import Initializer


class Constant(Initializer):
    """The same value for every element."""

    value: float

    def array(
        self, shape: Sequence[int], seed: int, name: str, dtype: str = "float32"
    ) -> np.ndarray:
        return np.full(tuple(shape), self.value, dtype)
