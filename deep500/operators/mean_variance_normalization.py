from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case
from ..namespace import count


class MeanVarianceNormalization(Operator):
    """x with mean 0 and variance 1 over these axes."""

    since = 9
    axis_range = of_first_input
    axes: tuple[int, ...] = (0, 2, 3)
    saved = ("centred", "deviation")

    def forward(self, xp, x):
        centred = x - xp.mean(x, axis=self.axes, keepdims=True)
        deviation = xp.sqrt(xp.mean(xp.square(centred), axis=self.axes, keepdims=True))
        return centred / (deviation + EPSILON), centred, deviation

    def backward(self, xp, dy, centred, deviation):
        scale = deviation + EPSILON
        steep = xp.where(
            deviation == 0, xp.zeros_like(deviation), 1 / xp.where(deviation == 0, 1, deviation)
        )
        share = (
            xp.sum(dy * centred, axis=self.axes, keepdims=True)
            * steep
            / count(centred.shape, self.axes)
        )
        return (dy - xp.mean(dy, axis=self.axes, keepdims=True) - centred * share / scale) / scale

    def infer(self, x):
        return (x,)

    def flops(self, x):
        return 6 * x.size  # mean 1, centre 1, variance 2, root and divide 2

    cases = (
        case(x=(2, 3, 2, 3)),
        case({"axes": (1,)}, x=(3, 5)),
        case({"axes": (0, -1)}, x=(2, 3, 4)),
    )


EPSILON = 1e-9  # ONNX's: where nothing varies, all is 0
