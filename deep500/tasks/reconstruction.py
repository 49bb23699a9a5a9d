"""What was the input?"""

import math

import numpy as np

from .. import registry
from ..contracts.dataset import Split
from ..contracts.loss import Loss
from ..contracts.task import Array, Arrays, Quality, Task


class Reconstruction(Task):
    """An auto-encoder: the input comes out again, as a vector or in its own shape."""

    input: str = "x"
    target: str = "x"
    prediction: str = "reconstruction"
    qualities = (Quality("mean squared error", "", "lower"),)

    def arrays(self) -> dict[str, Array]:
        return {self.target: Array("real")}

    def loss(self) -> Loss:
        return registry.find("losses", "MeanSquaredError")()

    def sizes(self, train: Split) -> tuple[tuple[int, ...], int]:
        shape = train.arrays[self.target].shape[1:]
        return shape, math.prod(shape)

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        count = len(batch[self.target])
        wanted = batch[self.target].reshape(count, -1).astype(np.float64)
        error = outputs[self.prediction].reshape(count, -1) - wanted
        return {"mean squared error": (error**2).mean(axis=1)}
