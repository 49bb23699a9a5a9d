"""Regression: how large is it?"""

from collections.abc import Mapping

import numpy as np

from .. import registry
from ..contracts.dataset import Split
from ..contracts.loss import Loss
from ..contracts.task import Array, Arrays, Quality, Task


class Regression(Task):
    """Predicts numbers. R2 is the share of the targets' variance that the prediction explains."""

    input: str = "x"
    target: str = "target"
    prediction: str = "prediction"
    qualities = (
        Quality("mean squared error", "", "lower", low=0.0),
        Quality("mean absolute error", "", "lower", low=0.0),
        Quality("R2", "", "higher", high=1.0),
    )

    def arrays(self) -> dict[str, Array]:
        return {self.input: Array("real"), self.target: Array("real", 1)}

    def loss(self) -> Loss:
        return registry.find("losses", "MeanSquaredError")()

    def sizes(self, train: Split) -> tuple[tuple[int, ...], int]:
        return train.specs[self.input].shape, train.specs[self.target].shape[0]

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        target = batch[self.target].astype(np.float64)
        error = outputs[self.prediction] - target
        return {
            "squared error": (error**2).mean(axis=1),
            "absolute error": np.abs(error).mean(axis=1),
            "target": target.mean(axis=1),
            "squared target": (target**2).mean(axis=1),
        }

    def evaluate(self, means: Mapping[str, float]) -> dict[str, float]:
        variance = means["squared target"] - means["target"] ** 2
        explained = np.nan
        if variance > 0:
            explained = 1 - means["squared error"] / variance
        return {
            "mean squared error": means["squared error"],
            "mean absolute error": means["absolute error"],
            "R2": explained,
        }
