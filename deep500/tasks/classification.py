"""Classification: which one of several classes is it?"""

from collections.abc import Mapping

import numpy as np

from .. import registry
from ..contracts.dataset import Split, chunks
from ..contracts.loss import Loss
from ..contracts.task import Array, Arrays, Quality, Task, check_classes
from ..errors import Deep500Error


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
        return shape, train.classes or self._counted_classes(train)

    def _counted_classes(self, train: Split) -> int:
        """One more than the largest label; a Deep500Error if most of the classes below it do not occur."""
        labels: set[int] = set()
        for part in chunks(train.columns[self.target]):
            labels.update(np.unique(part).tolist())
        smallest, largest = min(labels), max(labels)
        if smallest < 0:
            raise Deep500Error(
                f"{self.target!r} of the split 'train' has the label {smallest}: classes are counted from 0"
            )
        if largest >= 2 * len(labels):
            raise Deep500Error(
                f"{self.target!r} of the split 'train' goes up to {largest}, and only {len(labels)} different labels "
                f"occur: number the classes from 0 without gaps, or declare them (`classes = {largest + 1}` in the "
                "data set)"
            )
        return largest + 1

    def check_arrays(self, splits: Mapping[str, Split]) -> None:
        super().check_arrays(splits)
        for name, split in splits.items():
            if split.classes:
                check_classes(
                    {name: split},
                    self.target,
                    split.classes,
                    "classes",
                    owner="the data set",
                )

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        """100 for a correct answer, 0 for a wrong one; a prediction that contains NaN is wrong."""
        logits = outputs[self.prediction]
        has_nan = np.isnan(logits).any(axis=1)
        is_correct = (logits.argmax(axis=1) == batch[self.target]) & ~has_nan
        return {"accuracy": np.where(is_correct, 100.0, 0.0)}

    def check_data(self, splits: Mapping[str, Split], outputs: Arrays) -> None:
        classes = outputs[self.prediction].shape[1]
        check_classes(splits, self.target, classes, "classes")
