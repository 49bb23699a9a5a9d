"""The Kullback-Leibler divergence of predicted probabilities from a target."""

from ..contracts.loss import Loss

# the smallest normal float32, so that 0 log 0 is 0
SMALLEST = 1.1754943508222875e-38


class KLDivergence(Loss):
    """The mean over a batch of sum p log(p / q): p are the target's probabilities, q is softmax of the scores."""

    def formula(self, xp, prediction, target):
        log_q = prediction - xp.logsumexp(prediction, axis=1, keepdims=True)
        log_p = xp.log(xp.maximum(target, SMALLEST))
        losses = xp.sum(target * (log_p - log_q), axis=1)
        return xp.mean(losses)
