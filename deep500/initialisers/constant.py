"""One value everywhere."""

from collections.abc import Sequence

import numpy as np

from ..contracts.initialiser import Initialiser


class Constant(Initialiser):
    """The same value in every place."""

    value: float

    def array(
        self, shape: Sequence[int], seed: int, name: str, dtype: str = "float32"
    ) -> np.ndarray:
        return np.full(tuple(shape), self.value, dtype)
