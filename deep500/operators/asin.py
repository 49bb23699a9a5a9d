from ..contracts.operator import Operator, case


class Asin(Operator):
    """The angle between -π/2 and π/2 whose sine is x."""

    since = 7

    def forward(self, xp, x):
        return xp.asin(x)

    def backward(self, xp, dy, x):
        return dy / xp.sqrt((1 - x) * (1 + x))

    def pytorch(self, torch, x):
        return torch.asin(x)

    def jax(self, jax, x):
        return jax.numpy.asin(x)

    def tensorflow(self, tf, x):
        return tf.asin(x)

    cases = (case(x=[[-0.95, -0.3, 0.001], [0.2, 0.6, 0.9]]),)
