"""Seeds the random number generators that a script uses."""

import random
import sys

from ..errors import Deep500Error
from ..frameworks import available_frameworks, framework

LARGEST_SEED = 2**32 - 1  # the limit of NumPy's legacy generator


def seed_generators(seed: int) -> list[str]:
    """Seed Python's generator, NumPy's legacy one, and those of the frameworks that are imported; returns their names.

    JAX has no global generator to seed: the script itself makes its keys from a seed.
    """
    if not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise Deep500Error(
            f"seed is {seed!r}: give a whole number from 0 to {LARGEST_SEED}"
        )
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)
    names = ["python", "numpy"]
    for name in available_frameworks():
        candidate = framework(name)
        is_imported = candidate.module_name in sys.modules
        if is_imported and candidate.seed_generator(seed):
            names.append(name)
    return names
