"""How does the text go on?"""

import math
from collections.abc import Mapping

import numpy as np

from .. import registry
from ..contracts.dataset import Split
from ..contracts.loss import Loss
from ..contracts.task import Array, Arrays, Quality, Task, check_classes


class NextToken(Task):
    """For every position of a sequence the token that follows; predictions are (batch, position, token).

    The target of a sequence is the sequence itself, moved by one position: data bring both.
    """

    input: str = "tokens"
    target: str = "next"
    prediction: str = "logits"
    qualities = (
        Quality("perplexity", "", "lower"),
        Quality("cross-entropy", "nat/token", "lower"),
        Quality("accuracy", "%", "higher"),
    )

    def arrays(self) -> dict[str, Array]:
        return {self.input: Array("integer", 1), self.target: Array("integer", 1)}

    def loss(self) -> Loss:
        return registry.find("losses", "TokenCrossEntropy")()

    def sizes(self, train: Split) -> tuple[tuple[int, ...], int]:
        tokens = max(int(train.bounds(name).high) for name in (self.input, self.target))
        return train.specs[self.input].shape, tokens + 1

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        logits, target = outputs[self.prediction].astype(np.float64), batch[self.target]
        shifted = logits - logits.max(axis=-1, keepdims=True)
        log_sum = np.log(np.exp(shifted).sum(axis=-1))
        of_target = np.take_along_axis(shifted, target[..., None], axis=-1)[..., 0]
        right = (logits.argmax(axis=-1) == target) & ~np.isnan(logits).any(axis=-1)
        return {
            "cross-entropy": log_sum - of_target,
            "accuracy": np.where(right, 100.0, 0.0),
        }

    def evaluate(self, means: Mapping[str, float]) -> dict[str, float]:
        too_large = means["cross-entropy"] > 700  # beyond this, exp is no float64
        perplexity = math.inf if too_large else math.exp(means["cross-entropy"])
        return {"perplexity": perplexity, **means}

    def check_data(self, splits: Mapping[str, Split], outputs: Arrays) -> None:
        tokens = outputs[self.prediction].shape[-1]
        for name in (self.input, self.target):
            check_classes(splits, name, tokens, "tokens")
