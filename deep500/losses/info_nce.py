"""The contrastive loss of two views of a batch: an example must be nearest to its own other view."""

from ..contracts.loss import Loss

# the smallest squared length, so that no embedding is divided by 0
SHORTEST = 1e-12


class InfoNCE(Loss):
    """The cross-entropy of choosing, by cosine similarity, the target of the same row among those of the batch.

    Similarities are divided by `temperature`; prediction and target are embeddings, (batch, features).
    """

    temperature: float = 0.1

    def formula(self, xp, prediction, target):
        anchors = _normalised(xp, prediction)
        others = _normalised(xp, target)
        columns = xp.permute_dims(others, (1, 0))
        similarity = (anchors @ columns) / self.temperature
        same_row = xp.sum(anchors * others, axis=1) / self.temperature
        losses = xp.logsumexp(similarity, axis=1) - same_row
        return xp.mean(losses)


def _normalised(xp, x):
    squared_length = xp.sum(x * x, axis=1, keepdims=True)
    return x / xp.sqrt(xp.maximum(squared_length, SHORTEST))
