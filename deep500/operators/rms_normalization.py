from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case
from ._normalising import statistics_dtype, trailing


class RMSNormalization(Operator):
    """x divided by the root of its mean square over the axes from `axis` on, then scaled."""

    since = 23
    axis_range = of_first_input
    axis: int = -1
    epsilon: float = 1e-5
    stash_type: int = 1
    saved = ("inv_rms",)

    def forward(self, xp, x, scale):
        wide = xp.astype(x, statistics_dtype(x))
        inv_rms = 1 / xp.sqrt(
            xp.mean(xp.square(wide), axis=trailing(x, self.axis), keepdims=True) + self.epsilon
        )
        return xp.astype(wide * inv_rms, x.dtype) * scale, inv_rms

    def backward(self, xp, dy, x, scale, inv_rms):
        inv_rms = xp.astype(inv_rms, x.dtype)
        n, dn = x * inv_rms, dy * scale
        return inv_rms * (
            dn - n * xp.mean(dn * n, axis=trailing(x, self.axis), keepdims=True)
        ), dy * n

    def pytorch(self, torch, x, scale):
        shape = x.shape[self.axis % x.ndim :]
        if scale.shape == shape:
            return torch.nn.functional.rms_norm(x, shape, scale, self.epsilon)
        # scale is broadcast over x, which PyTorch's own weight cannot be
        return torch.nn.functional.rms_norm(x, shape, None, self.epsilon) * scale

    def infer(self, x, scale):
        return (x,)

    def flops(self, x, scale):
        return 4 * x.size  # square, add, divide, scale

    cases = (
        case(x=(3, 4), scale=(4,)),
        case({"axis": 1, "epsilon": 0.1}, x=(2, 3, 4), scale=(3, 4)),
        case({"axis": 0}, x=(2, 3), scale=(1,)),
    )
