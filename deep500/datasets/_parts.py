"""Divides examples into train, validation and test, in the same way with every version of NumPy."""

import numpy as np

from ..errors import Deep500Error


def random_parts(
    size: int, validation: float, test: float, seed: int
) -> dict[str, np.ndarray]:
    """The rows of the three splits, drawn with the seed; each has at least one."""
    if not (0 < validation < 1 and 0 < test < 1 and validation + test < 1):
        raise Deep500Error(
            f"validation is {validation} and test is {test}: each is a share of the examples above 0, "
            "and something must be left to train on"
        )
    check_seed(seed)
    if size < 3:
        raise Deep500Error(
            f"there are {size} examples, and three splits need 3 at least"
        )
    test_count = max(1, round(size * test))
    validation_count = max(1, round(size * validation))
    train_count = size - validation_count - test_count
    if train_count < 1:
        raise Deep500Error(
            f"of {size} examples none is left to train on: make validation smaller"
        )
    order = random_order(size, seed)
    cuts = [train_count, train_count + validation_count]
    train_rows, validation_rows, test_rows = np.split(order, cuts)
    return {
        "train": np.sort(train_rows),
        "validation": np.sort(validation_rows),
        "test": np.sort(test_rows),
    }


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**63:
        raise Deep500Error(
            f"seed is {seed}: a seed is a whole number from 0 to 2**63 - 1"
        )


def random_order(size: int, seed: int) -> np.ndarray:
    """All numbers below `size` in random order, by a stable sort of raw random bits."""
    generator = np.random.Philox(key=[seed, STREAM])
    bits = generator.random_raw(size)
    return np.argsort(bits, kind="stable")


# keeps these random numbers apart from those of samplers, whose second key is the epoch
STREAM = 1 << 63
