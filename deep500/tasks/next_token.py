"""Language modelling: how does the text continue?"""

import math
from collections.abc import Mapping

import numpy as np

from .. import registry
from ..contracts.dataset import Split
from ..contracts.loss import Loss
from ..contracts.task import Array, Arrays, Quality, Task, check_classes


class NextToken(Task):
    """Predicts for every position of a sequence the token that follows; predictions are (batch, position, token).

    The target of a sequence is the sequence itself, shifted by one position; the data have both.
    """

    input: str = "tokens"
    target: str = "next"
    prediction: str = "logits"
    qualities = (
        Quality("perplexity", "", "lower", low=1.0),
        Quality("cross-entropy", "nat/token", "lower", low=0.0),
        Quality("accuracy", "%", "higher"),
    )

    def arrays(self) -> dict[str, Array]:
        return {
            self.input: Array("integer", 1),
            self.target: Array("integer", 1),
        }

    def loss(self) -> Loss:
        return registry.find("losses", "TokenCrossEntropy")()

    def sizes(self, train: Split) -> tuple[tuple[int, ...], int]:
        largest_input = int(train.bounds(self.input).high)
        largest_target = int(train.bounds(self.target).high)
        tokens = max(largest_input, largest_target) + 1
        return train.specs[self.input].shape, tokens

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        target = batch[self.target]
        logits = outputs[self.prediction].astype(np.float64)
        shifted = logits - logits.max(axis=-1, keepdims=True)
        log_sum = np.log(np.exp(shifted).sum(axis=-1))
        indices = target[..., None]
        of_target = np.take_along_axis(shifted, indices, axis=-1)[..., 0]
        has_nan = np.isnan(logits).any(axis=-1)
        is_correct = (logits.argmax(axis=-1) == target) & ~has_nan
        return {
            "cross-entropy": log_sum - of_target,
            "accuracy": np.where(is_correct, 100.0, 0.0),
        }

    def evaluate(self, means: Mapping[str, float]) -> dict[str, float]:
        cross_entropy = means["cross-entropy"]
        if cross_entropy > 700:  # exp would overflow
            perplexity = math.inf
        else:
            perplexity = math.exp(cross_entropy)
        return {"perplexity": perplexity, **means}

    def check_data(self, splits: Mapping[str, Split], outputs: Arrays) -> None:
        tokens = outputs[self.prediction].shape[-1]
        for name in (self.input, self.target):
            check_classes(splits, name, tokens, "tokens")
