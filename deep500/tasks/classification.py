"""Classification: which one of several classes is it?"""

from collections.abc import Mapping

import numpy as np

from .. import registry
from ..contracts.dataset import Split
from ..contracts.loss import Loss
from ..contracts.task import Array, Arrays, Quality, Task, check_classes


class Classification(Task):
    """One label per input; the prediction has a score for every class, and the class with the highest is the answer."""

    input: str = "x"
    target: str = "label"
    prediction: str = "logits"
    qualities = (Quality("accuracy", "%", "higher"),)

    def arrays(self) -> dict[str, Array]:
        return {self.input: Array("real"), self.target: Array("integer", 0)}

    def loss(self) -> Loss:
        return registry.find("losses", "CrossEntropy")()

    def sizes(self, train: Split) -> tuple[tuple[int, ...], int]:
        shape = train.specs[self.input].shape
        largest_label = int(train.bounds(self.target).high)
        return shape, largest_label + 1

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        """100 for a correct answer, 0 for a wrong one; a prediction that contains NaN is wrong."""
        logits = outputs[self.prediction]
        has_nan = np.isnan(logits).any(axis=1)
        is_correct = (logits.argmax(axis=1) == batch[self.target]) & ~has_nan
        return {"accuracy": np.where(is_correct, 100.0, 0.0)}

    def check_data(self, splits: Mapping[str, Split], outputs: Arrays) -> None:
        classes = outputs[self.prediction].shape[1]
        check_classes(splits, self.target, classes, "classes")
