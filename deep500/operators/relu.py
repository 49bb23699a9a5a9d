from ..contracts.operator import Operator, case


class Relu(Operator):
    """x where x is positive, 0 elsewhere."""

    def forward(self, xp, x):
        return xp.relu(x)

    def backward(self, xp, dy, y):
        return xp.where(y > 0, dy, xp.zeros_like(dy))

    def pytorch(self, torch, x):
        return torch.relu(x)

    def jax(self, jax, x):
        return jax.nn.relu(x)

    def tensorflow(self, tf, x):
        return tf.nn.relu(x)

    cases = (case(x=(3, 4, 5)), case(x=(7,)), case(x=()), case(x=(0, 3)))
