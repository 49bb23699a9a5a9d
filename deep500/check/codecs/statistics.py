"""Tests of means, corrected for the number of tests."""

import numpy as np

from ...measure.statistics.distributions import student_t_quantile

LEVEL = 1e-4  # the probability of one false alarm in a whole check; a second, larger sample must confirm it


def significance(tests: int) -> float:
    """The level of a single test among so many, by Bonferroni."""
    return LEVEL / max(1, tests)


def half_widths(samples: np.ndarray, tests: int) -> np.ndarray:
    """The half width of the confidence interval of every column's mean, at the level for so many tests."""
    count = len(samples)
    probability = 1 - significance(tests) / 2
    quantile = float(student_t_quantile(probability, count - 1))
    return quantile * samples.std(axis=0, ddof=1) / np.sqrt(count)


def directions(x: np.ndarray, seed: int) -> np.ndarray:
    """Rows along which errors are added up: a bias towards 0, upwards, or in a part shows in one of them."""
    rng = np.random.default_rng(seed)
    random_signs = rng.choice([-1.0, 1.0], (4, x.size))
    quarters = np.zeros((4, x.size))
    parts = np.array_split(np.arange(x.size), 4)
    for number, part in enumerate(parts):
        quarters[number, part] = np.sign(x[part])
    ones = np.ones(x.size)
    return np.vstack([ones, np.sign(x), x, quarters, random_signs])
