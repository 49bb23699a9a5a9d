"""Tests of means, aware of how many are made."""

import numpy as np

from ...measure.statistics.distributions import student_t_quantile

LEVEL = 1e-4  # the chance of one false alarm in a whole check; a second, larger sample must confirm it


def significance(tests: int) -> float:
    """The level of one of so many tests, by Bonferroni."""
    return LEVEL / max(1, tests)


def half_widths(samples: np.ndarray, tests: int) -> np.ndarray:
    """Of the interval of every column's mean, at a level for so many tests."""
    count = len(samples)
    quantile = float(student_t_quantile(1 - significance(tests) / 2, count - 1))
    return quantile * samples.std(axis=0, ddof=1) / np.sqrt(count)


def directions(x: np.ndarray, seed: int) -> np.ndarray:
    """Rows along which errors are added up: a bias towards 0, upwards, or in a part shows in one of them."""
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (4, x.size))
    quarters = np.zeros((4, x.size))
    for number, part in enumerate(np.array_split(np.arange(x.size), 4)):
        quarters[number, part] = np.sign(x[part])
    return np.vstack([np.ones(x.size), np.sign(x), x, quarters, signs])
