"""Nothing yet: the start of biases."""

from collections.abc import Sequence

import numpy as np

from ..contracts.initialiser import Initialiser


class Zeros(Initialiser):
    """0 in every place."""

    def array(
        self, shape: Sequence[int], seed: int, name: str, dtype: str = "float32"
    ) -> np.ndarray:
        return np.zeros(tuple(shape), dtype)
