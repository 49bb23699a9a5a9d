"""Normal values of one size, whatever the layer."""

from collections.abc import Sequence

import numpy as np

from ..contracts.initialiser import Initialiser, random_of


class Normal(Initialiser):
    """Mean 0, standard deviation `deviation`."""

    deviation: float = 0.02

    def array(
        self, shape: Sequence[int], seed: int, name: str, dtype: str = "float32"
    ) -> np.ndarray:
        return (
            random_of(seed, name).standard_normal(tuple(shape)) * self.deviation
        ).astype(dtype)
