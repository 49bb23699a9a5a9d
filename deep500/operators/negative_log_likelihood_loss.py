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


class NegativeLogLikelihoodLoss(Operator):
    """The weighted negative of what x, log-probabilities along axis 1, gives to the target classes."""

    since = 12
    ignore_index: int | None = None
    reduction: LossReduction = "mean"
    integers = ("target",)
    outputs = ("loss",)

    def forward(self, xp, x, target, weight=None):
        each = weight_of(xp, target, x, weight, self.ignore_index)
        return reduced(xp, -each * picked(xp, target, x), each, self.reduction)

    def backward(self, xp, dloss, x, target, weight):
        each = weight_of(xp, target, x, weight, self.ignore_index)
        share = xp.expand_dims(by_loss(xp, dloss, each, self.reduction), 1)
        return xp.where(hot(xp, target, x), -share, xp.zeros_like(x))

    def pytorch(self, torch, x, target, weight=None):
        # PyTorch ignores -100 by default, and no class has this index
        ignored = -100 if self.ignore_index is None else self.ignore_index
        return torch.nn.functional.nll_loss(
            x, target.long(), weight, ignore_index=ignored, reduction=self.reduction
        )

    def check(self, x, target, weight=None):
        check_labels(target, x.shape[1], self.ignore_index)

    def infer(self, x, target, weight=None):
        return (TensorSpec(target.shape if self.reduction == "none" else (), x.dtype),)

    def flops(self, x, target, weight=None):
        return 2 * target.size  # weigh and add

    cases = (
        case(x=(6, 4), target=[0, 1, 2, 3, 0, 1]),
        case({"reduction": "sum"}, x=(3, 4), target=[3, 3, 0], weight=[0.5, 1.0, 2.0, 0.25]),
        case({"reduction": "none", "ignore_index": 2}, x=(3, 4), target=[0, 2, 3]),
        case(
            {"ignore_index": -1},
            x=(3, 4, 2),
            target=[[0, 1], [-1, 3], [2, -1]],
            weight=[0.5, 1.0, 2.0, 0.25],
        ),
        case({"ignore_index": 1}, x=(2, 3, 2, 2), target=[[[0, 1], [2, 2]], [[1, 1], [0, 2]]]),
    )
