from ..contracts.operator import Operator, TensorSpec, case
from ._labels import (
    LossReduction,
    by_loss,
    check_labels,
    hot,
    picked,
    reduced,
    weight_of,
)


class SoftmaxCrossEntropyLoss(Operator):
    """The weighted negative log-probability that Softmax along axis 1 gives to the labels."""

    since = 12
    ignore_index: int | None = None
    reduction: LossReduction = "mean"
    integers = ("labels",)
    outputs = ("loss", "log_prob")

    def forward(self, xp, scores, labels, weights=None):
        log_prob = scores - xp.logsumexp(scores, axis=1, keepdims=True)
        weight = weight_of(xp, labels, log_prob, weights, self.ignore_index)
        return reduced(xp, -weight * picked(xp, labels, log_prob), weight, self.reduction), log_prob

    def backward(self, xp, dloss, dlog_prob, labels, weights, log_prob):
        weight = weight_of(xp, labels, log_prob, weights, self.ignore_index)
        p, share = xp.exp(log_prob), xp.expand_dims(by_loss(xp, dloss, weight, self.reduction), 1)
        by_scores = (p - xp.astype(hot(xp, labels, p), p.dtype)) * share
        return by_scores + dlog_prob - p * xp.sum(dlog_prob, axis=1, keepdims=True)

    def pytorch(self, torch, scores, labels, weights=None):
        log_prob = torch.log_softmax(scores, 1)
        # PyTorch ignores -100 by default, and no class has this index
        ignored = -100 if self.ignore_index is None else self.ignore_index
        return torch.nn.functional.nll_loss(
            log_prob, labels.long(), weights, ignore_index=ignored, reduction=self.reduction
        ), log_prob

    def check(self, scores, labels, weights=None):
        check_labels(labels, scores.shape[1], self.ignore_index)

    def infer(self, scores, labels, weights=None):
        return TensorSpec(labels.shape if self.reduction == "none" else (), scores.dtype), scores

    def flops(self, scores, labels, weights=None):
        return 5 * scores.size + 2 * labels.size  # those of LogSoftmax, then weigh and add

    cases = (
        case(scores=(6, 4), labels=[0, 1, 2, 3, 0, 1]),
        case({"reduction": "sum"}, scores=(3, 4), labels=[3, 3, 0], weights=[0.5, 1.0, 2.0, 0.25]),
        case({"reduction": "none", "ignore_index": 2}, scores=(3, 4), labels=[0, 2, 3]),
        case(
            {"ignore_index": -1},
            scores=(3, 4, 2),
            labels=[[0, 1], [-1, 3], [2, -1]],
            weights=[0.5, 1.0, 2.0, 0.25],
        ),
        case({"ignore_index": 1}, scores=(2, 3, 2, 2), labels=[[[0, 1], [2, 2]], [[1, 1], [0, 2]]]),
        case(scores=[[1000.0, 0.0], [-1000.0, 0.0]], labels=[1, 1]),
        case(scores=(1, 1), labels=[0]),
    )
