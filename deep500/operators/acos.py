from ..contracts.operator import Operator, case


class Acos(Operator):
    """The angle between 0 and π whose cosine is x."""

    since = 7

    def forward(self, xp, x):
        return xp.acos(x)

    def backward(self, xp, dy, x):
        return -dy / xp.sqrt((1 - x) * (1 + x))

    def pytorch(self, torch, x):
        return torch.acos(x)

    def jax(self, jax, x):
        return jax.numpy.acos(x)

    def tensorflow(self, tf, x):
        return tf.acos(x)

    cases = (case(x=[[-0.95, -0.3, 0.001], [0.2, 0.6, 0.9]]),)
