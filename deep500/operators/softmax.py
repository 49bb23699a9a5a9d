from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case


class Softmax(Operator):
    """exp(x) divided by its sum along one axis."""

    since = 13
    axis_range = of_first_input
    axis: int = -1

    def forward(self, xp, x):
        if x.shape[self.axis] == 0:  # without a largest element
            return xp.zeros_like(x)
        e = xp.exp(x - xp.max(x, axis=self.axis, keepdims=True))
        return e / xp.sum(e, axis=self.axis, keepdims=True)

    def backward(self, xp, dy, y):
        return y * (dy - xp.sum(dy * y, axis=self.axis, keepdims=True))

    def pytorch(self, torch, x):
        return torch.softmax(x, self.axis)

    def jax(self, jax, x):
        return jax.nn.softmax(x, self.axis)

    def tensorflow(self, tf, x):
        return tf.nn.softmax(x, self.axis)

    def flops(self, x):
        return 5 * x.size  # max, subtract, exp, sum, divide

    cases = (
        case(x=(3, 5)),
        case({"axis": 1}, x=(2, 3, 4)),
        case({"axis": 0}, x=(6,)),
        case(x=(2, 1)),
        case(x=[[-200.0, 0.0, 200.0], [1000.0, 1000.5, 999.0]]),
    )
