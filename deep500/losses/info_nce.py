"""The contrastive loss of two views: each example must be nearest to its own other view."""

from ..contracts.loss import Loss

SHORTEST = 1e-12  # a squared length: no embedding is divided by 0


class InfoNCE(Loss):
    """The cross-entropy of picking, by cosine similarity, the target of one's own row among those of the batch.

    Similarities are divided by `temperature`; prediction and target are embeddings, (batch, features).
    """

    temperature: float = 0.1

    def formula(self, xp, prediction, target):
        anchors, others = _normalised(xp, prediction), _normalised(xp, target)
        similarity = (anchors @ xp.permute_dims(others, (1, 0))) / self.temperature
        own = xp.sum(anchors * others, axis=1) / self.temperature
        return xp.mean(xp.logsumexp(similarity, axis=1) - own)


def _normalised(xp, x):
    squared_length = xp.sum(x * x, axis=1, keepdims=True)
    return x / xp.sqrt(xp.maximum(squared_length, SHORTEST))
