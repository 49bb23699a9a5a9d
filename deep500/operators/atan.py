from ..contracts.operator import Operator, case


class Atan(Operator):
    """The angle between -π/2 and π/2 whose tangent is x."""

    since = 7

    def forward(self, xp, x):
        return xp.atan(x)

    def backward(self, xp, dy, x):
        return dy / (1 + x * x)

    def pytorch(self, torch, x):
        return torch.atan(x)

    def jax(self, jax, x):
        return jax.numpy.atan(x)

    def tensorflow(self, tf, x):
        return tf.atan(x)

    cases = (case(x=[[-30.0, -1.2, -0.001], [0.3, 1.4, 2.0]]),)
