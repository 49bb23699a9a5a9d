"""A multilayer perceptron."""

import math
from collections.abc import Sequence

from ._classifier import Builder, Classifier


class Mlp(Classifier):
    """Dense layers with Relu between them."""

    hidden: tuple[int, ...] = (64,)

    def layers(self, builder: Builder, x: str, shape: Sequence[int]) -> tuple[str, int]:
        x, width = builder.flatten(x) if len(shape) > 1 else x, math.prod(shape)
        for i, size in enumerate(self.hidden, 1):
            x, width = builder.relu(builder.dense(f"fc{i}", x, width, size)), size
        return x, width
