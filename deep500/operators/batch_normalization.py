from ..contracts.operator import Operator, case
from ..namespace import count


class BatchNormalization(Operator):
    """x with the mean and variance of every channel taken out, then scaled and shifted.

    In training the statistics are the batch's, and the running ones move towards them: results, never changed in place.
    """

    since = 14
    epsilon: float = 1e-5
    momentum: float = 0.9
    training_mode: int = 0
    outputs = ("y", "running_mean", "running_var")
    saved = ("mean", "inv_std")

    def forward(self, xp, x, scale, b, input_mean, input_var):
        axes, wide = _axes(x), _wide(x)
        mean, var, keep = input_mean, input_var, self.momentum
        if self.training_mode:
            mean = xp.mean(x, axis=axes)
            var = xp.mean(xp.square(x - xp.reshape(mean, wide)), axis=axes)
            input_mean = keep * input_mean + (1 - keep) * mean
            input_var = keep * input_var + (1 - keep) * var
        inv_std = 1 / xp.sqrt(var + self.epsilon)
        y = (x - xp.reshape(mean, wide)) * xp.reshape(inv_std * scale, wide) + xp.reshape(b, wide)
        return y, input_mean, input_var, mean, inv_std

    def backward(self, xp, dy, x, scale, mean, inv_std):
        axes, wide = _axes(x), _wide(x)
        normal = (x - xp.reshape(mean, wide)) * xp.reshape(inv_std, wide)
        dscale, db = xp.sum(dy * normal, axis=axes), xp.sum(dy, axis=axes)
        if self.training_mode:  # the statistics depend on x too
            n = count(x.shape, axes)
            dy = dy - xp.reshape(db / n, wide) - normal * xp.reshape(dscale / n, wide)
        return dy * xp.reshape(inv_std * scale, wide), dscale, db

    def pytorch(self, torch, x, scale, b, input_mean, input_var):
        if not self.training_mode:
            y = torch.nn.functional.batch_norm(x, input_mean, input_var, scale, b, eps=self.epsilon)
            return y, input_mean, input_var
        # Not nn.functional.batch_norm: that averages the unbiased variance, where ONNX says population variance.
        y, mean, inv_std = torch.native_batch_norm(x, scale, b, None, None, True, 0.0, self.epsilon)
        var, keep = 1 / inv_std**2 - self.epsilon, self.momentum
        return y, keep * input_mean + (1 - keep) * mean, keep * input_var + (1 - keep) * var

    def infer(self, x, scale, b, input_mean, input_var):
        if len(x.shape) > 1 and scale.shape != x.shape[1:2]:
            raise ValueError(f"a scale of shape {scale.shape} does not go with {x.shape}")
        return x, input_mean, input_var

    def flops(self, x, scale, b, input_mean, input_var):
        return (
            7 if self.training_mode else 2
        ) * x.size  # mean 1, variance 3, normalise 3; else one scale and shift

    cases = (
        case(x=(4, 3, 5), scale=(3,), b=(3,), input_mean=(3,), input_var=[0.5, 1.0, 3.0]),
        case(
            {"epsilon": 0.1},
            x=(4, 3),
            scale=(3,),
            b=(3,),
            input_mean=(3,),
            input_var=[0.0, 1.0, 3.0],
        ),
        case(
            {"training_mode": 1},
            x=(4, 3, 5, 5),
            scale=(3,),
            b=(3,),
            input_mean=(3,),
            input_var=[0.5, 1.0, 3.0],
        ),
        case(
            {"training_mode": 1, "momentum": 0.3, "epsilon": 1e-3},
            x=(5, 2),
            scale=(2,),
            b=(2,),
            input_mean=(2,),
            input_var=[0.5, 2.0],
        ),
        case(
            {"training_mode": 1},
            x=(2, 1, 2, 3, 2),
            scale=(1,),
            b=(1,),
            input_mean=(1,),
            input_var=[1.0],
        ),
    )


def _axes(x):
    return (0, *range(2, x.ndim))


def _wide(x):
    """The shape in which a value per channel stands beside x."""
    return (1, -1, *[1] * (x.ndim - 2))
