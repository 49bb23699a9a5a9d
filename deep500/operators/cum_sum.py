from dataclasses import replace

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case


class CumSum(Operator):
    """The sum of all elements up to each one along an axis; exclusive: without itself; reverse: from the end."""

    since = 11
    axis_range = of_first_input
    exclusive: int = 0
    reverse: int = 0

    def forward(self, xp, x, axis: int):  # type: ignore[no-untyped-def]
        x = xp.flip(x, axis) if self.reverse else x
        if self.exclusive:
            x = xp.pad(x, [(1, -1) if i == axis % x.ndim else (0, 0) for i in range(x.ndim)])
        y = xp.cumulative_sum(x, axis)
        return xp.flip(y, axis) if self.reverse else y

    def backward(self, xp, dy, axis):
        return replace(self, reverse=int(not self.reverse)).forward(xp, dy, axis)

    def native(self, framework):
        lacks = {"pytorch": self.exclusive or self.reverse, "jax": self.exclusive}.get(framework)
        return None if lacks else super().native(framework)

    def pytorch(self, torch, x, axis):
        return torch.cumsum(x, axis, dtype=x.dtype)

    def jax(self, jax, x, axis):
        return jax.lax.cumsum(x, axis % x.ndim, bool(self.reverse))

    def tensorflow(self, tf, x, axis):
        return tf.cumsum(x, axis, bool(self.exclusive), bool(self.reverse))

    def infer(self, x, axis):
        return (x,)

    cases = (
        case(x=(2, 4), axis=1),
        case({"exclusive": 1}, x=(3, 2, 2), axis=-3),
        case({"exclusive": 1, "reverse": 1}, x=(5,), axis=0),
    )
