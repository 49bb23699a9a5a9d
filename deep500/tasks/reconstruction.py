"""Reconstruction: what was the input?"""

import math

import numpy as np

from .. import registry
from ..contracts.dataset import Split
from ..contracts.loss import Loss, described
from ..contracts.network import Network
from ..contracts.task import Array, Arrays, Quality, Task


class Reconstruction(Task):
    """An auto-encoder: the prediction is the input again, as a vector or in its own shape."""

    input: str = "x"
    target: str = "x"
    prediction: str = "reconstruction"
    qualities = (Quality("mean squared error", "", "lower", low=0.0),)

    def arrays(self) -> dict[str, Array]:
        return {self.target: Array("real")}

    def loss(self) -> Loss:
        return registry.find("losses", "MeanSquaredError")()

    def sizes(self, train: Split) -> tuple[tuple[int, ...], int]:
        shape = train.specs[self.target].shape
        return shape, math.prod(shape)

    def attach_loss(self, network: Network, loss: Loss | None = None) -> Network:
        """Attach the loss; if the prediction is a vector, the input is flattened before they are compared."""
        if "loss" in network.outputs or self._comparable(network):
            return super().attach_loss(network, loss)
        twin = network.copy()
        vector = twin.add_node("Flatten", (self.target,))
        loss = loss or self.loss()
        return loss.attach(twin, self.prediction, vector)

    def _comparable(self, network: Network) -> bool:
        if self.prediction not in network.outputs or self.target not in network.inputs:
            return True
        prediction = described(network, self.prediction)
        return prediction.shape == network.inputs[self.target].shape

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        target, prediction = batch[self.target], outputs[self.prediction]
        count = len(target)
        expected = target.reshape(count, -1).astype(np.float64)
        error = prediction.reshape(count, -1) - expected
        return {"mean squared error": (error**2).mean(axis=1)}
