from ..contracts.operator import Operator, Tensor, case


class SoftmaxCrossEntropyLoss(Operator):
    """The weighted negative log-probability that Softmax along axis 1 gives to the labels."""

    since = 12
    ignore_index: int | None = None
    reduction: str = "mean"
    outputs = ("loss", "log_prob")

    def forward(self, xp, scores, labels, weights=None):
        log_prob = scores - xp.logsumexp(scores, axis=1, keepdims=True)
        weight = self._weight(xp, log_prob, labels, weights)
        loss = -weight * xp.sum(xp.where(_hot(xp, labels, log_prob), log_prob, xp.zeros_like(log_prob)), axis=1)
        if self.reduction == "none":
            return loss, log_prob
        return xp.sum(loss) / xp.sum(weight) if self.reduction == "mean" else xp.sum(loss), log_prob

    def backward(self, xp, dloss, dlog_prob, labels, weights, log_prob):
        weight = self._weight(xp, log_prob, labels, weights)
        if self.reduction == "mean":
            weight = weight / xp.sum(weight)
        p = xp.exp(log_prob)
        by_loss = (p - xp.astype(_hot(xp, labels, p), p.dtype)) * xp.expand_dims(dloss * weight, 1)
        return by_loss + dlog_prob - p * xp.sum(dlog_prob, axis=1, keepdims=True)

    def pytorch(self, torch, scores, labels, weights=None):
        log_prob = torch.log_softmax(scores, 1)
        ignored = -100 if self.ignore_index is None else self.ignore_index  # -100: PyTorch's own way to say none
        return torch.nn.functional.nll_loss(log_prob, labels, weights, ignore_index=ignored,
                                            reduction=self.reduction), log_prob

    def infer(self, scores, labels, weights=None):
        return Tensor(labels.shape if self.reduction == "none" else (), scores.dtype), scores

    def flops(self, scores, labels, weights=None):
        return 5 * scores.size + 2 * labels.size  # those of LogSoftmax, then weigh and add

    def _weight(self, xp, scores, labels, weights):
        """The weight of every label: that of its class, 0 if it is ignored."""
        weight = xp.ones_like(scores[:, 0])
        if weights is not None:
            by_class = xp.reshape(weights, (1, -1, *[1] * (scores.ndim - 2)))
            weight = xp.sum(xp.where(_hot(xp, labels, scores), by_class, xp.zeros_like(scores)), axis=1)
        if self.ignore_index is None:
            return weight
        return xp.where(labels == self.ignore_index, xp.zeros_like(weight), weight)

    cases = (
        case(scores=(6, 4), labels=[0, 1, 2, 3, 0, 1]),
        case({"reduction": "sum"}, scores=(3, 4), labels=[3, 3, 0], weights=[0.5, 1.0, 2.0, 0.25]),
        case({"reduction": "none", "ignore_index": 2}, scores=(3, 4), labels=[0, 2, 3]),
        case({"ignore_index": -1}, scores=(3, 4, 2), labels=[[0, 1], [-1, 3], [2, -1]], weights=[0.5, 1.0, 2.0, 0.25]),
        case({"ignore_index": 1}, scores=(2, 3, 2, 2), labels=[[[0, 1], [2, 2]], [[1, 1], [0, 2]]]),
        case(scores=[[1000.0, 0.0], [-1000.0, 0.0]], labels=[1, 1]),
        case(scores=(1, 1), labels=[0]),
    )


def _hot(xp, labels, scores):
    """Where in the scores the labels point."""
    classes = xp.reshape(xp.arange(scores.shape[1], labels.dtype), (1, -1, *[1] * (scores.ndim - 2)))
    return xp.expand_dims(labels, 1) == classes
