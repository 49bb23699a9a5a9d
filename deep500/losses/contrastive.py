"""The contrastive loss of pairs: it pulls similar ones together and pushes others a margin apart."""

from ..contracts.loss import Loss
from ..contracts.operator import TensorSpec

NEAREST = 1e-12  # the smallest squared distance, since the root of 0 has no derivative


class Contrastive(Loss):
    """The mean of d² for pairs with label 1, and of max(0, margin - d)² for pairs with label 0.

    The prediction is the difference of the two embeddings of a pair; d is its length (Hadsell et al., 2006).
    """

    margin: float = 1.0
    target_name = "label"

    def formula(self, xp, prediction, target):
        alike = xp.astype(target, prediction.dtype)
        squared = xp.sum(prediction * prediction, axis=1)
        distance = xp.sqrt(xp.maximum(squared, NEAREST))
        missing = xp.maximum(self.margin - distance, 0.0)
        losses = alike * squared + (1 - alike) * (missing * missing)
        return xp.mean(losses)

    def target(self, prediction: TensorSpec) -> TensorSpec:
        return TensorSpec(prediction.shape[:1], "int64")
