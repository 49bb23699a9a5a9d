"""Which of some classes is it?"""

from collections.abc import Mapping

import numpy as np

from .. import registry
from ..contracts.dataset import Split
from ..contracts.loss import Loss
from ..contracts.task import Array, Arrays, Quality, Task, check_classes


class Classification(Task):
    """One label per input; the prediction has a number for every class, the largest one is the answer."""

    input: str = "x"
    target: str = "label"
    prediction: str = "logits"
    qualities = (Quality("accuracy", "%", "higher"),)

    def arrays(self) -> dict[str, Array]:
        return {self.input: Array("real"), self.target: Array("integer", 0)}

    def loss(self) -> Loss:
        return registry.find("losses", "CrossEntropy")()

    def sizes(self, train: Split) -> tuple[tuple[int, ...], int]:
        return train.specs[self.input].shape, int(train.bounds(self.target).high) + 1

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        """100 for a right answer, 0 for a wrong one; an answer that is not a number is wrong."""
        logits = outputs[self.prediction]
        right = (logits.argmax(axis=1) == batch[self.target]) & ~np.isnan(logits).any(
            axis=1
        )
        return {"accuracy": np.where(right, 100.0, 0.0)}

    def check_data(self, splits: Mapping[str, Split], outputs: Arrays) -> None:
        check_classes(splits, self.target, outputs[self.prediction].shape[1], "classes")
