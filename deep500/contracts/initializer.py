"""The initializer contract: the initial values of a parameter, bit-identical for every framework."""

from collections.abc import Sequence

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking


class Initializer(Definition):
    """A rule for the initial values of a parameter."""

    def array(
        self, shape: Sequence[int], seed: int, name: str, dtype: str = "float32"
    ) -> np.ndarray:
        """A pure function of its arguments: the parameter's name is part of the seed, so order does not matter."""
        raise lacking(self, "array")


def random_of(seed: int, name: str) -> np.random.Generator:
    """The random numbers of one parameter, independent of those of all other names and seeds."""
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(name.encode()))
    return np.random.Generator(np.random.Philox(sequence))


def fans(shape: Sequence[int], name: str) -> tuple[int, int]:
    """The number of inputs and outputs of every unit, for a weight of shape (outputs, inputs, *window)."""
    if len(shape) < 2:
        raise Deep500Error(
            f"{name!r} of shape {tuple(shape)} has no inputs and outputs to count: "
            "give Zeros or Constant to vectors"
        )
    outputs, inputs, *window = shape
    window_size = int(np.prod(window))
    return inputs * window_size, outputs * window_size
