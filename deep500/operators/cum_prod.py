from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, case


class CumProd(Operator):
    """The product of all elements up to each one along an axis; exclusive: without itself; reverse: from the end."""

    since = 26
    axis_range = of_first_input
    exclusive: int = 0
    reverse: int = 0

    def forward(self, xp, x, axis: int):  # type: ignore[no-untyped-def]
        y = self._factors(xp, x, axis)
        for step in _doublings(x.shape[axis]):
            y = y * _moved(xp, y, axis, step, 1)
        return xp.flip(y, axis) if self.reverse else y

    def backward(self, xp, dy, x, y, axis):
        """Without the factor i, y[j] is the product before i times that after it: nothing is divided by a zero."""
        factors = self._factors(xp, x, axis)
        g, y = (xp.flip(v, axis) if self.reverse else v for v in (dy, y))
        before, after = _moved(xp, y, axis, 1, 1), _moved(xp, factors, axis, -1, 0)
        # g[i] + after[i] * g[i + 1] + …, over twice as many terms in each step
        for step in _doublings(x.shape[axis]):
            g, after = (
                g + after * _moved(xp, g, axis, -step, 0),
                after * _moved(xp, after, axis, -step, 0),
            )
        dx = _moved(xp, g * before, axis, -1, 0) if self.exclusive else g * before
        return xp.flip(dx, axis) if self.reverse else dx

    def native(self, framework):
        """TensorFlow's has a derivative that is wrong where factors are 0."""
        lacks = {"pytorch": self.exclusive or self.reverse, "jax": self.exclusive}.get(framework)
        return None if lacks else super().native(framework)

    def pytorch(self, torch, x, axis):
        return torch.cumprod(x, axis, dtype=x.dtype)

    def jax(self, jax, x, axis):
        return jax.lax.cumprod(x, axis % x.ndim, bool(self.reverse))

    def infer(self, x, axis):
        return (x,)

    def _factors(self, xp, x, axis):
        """In the order in which they are multiplied."""
        x = xp.flip(x, axis) if self.reverse else x
        return _moved(xp, x, axis, 1, 1) if self.exclusive else x

    cases = (
        case(x=(2, 4), axis=1),
        case({"exclusive": 1}, x=(3, 2, 2), axis=-3),
        case({"reverse": 1}, x=[[2.0, 0.0, 3.0, 0.5, 0.0, 1.5]], axis=1),
        case({"exclusive": 1, "reverse": 1}, x=(5,), axis=0),
    )


def _doublings(n):
    return [1 << k for k in range(max(n - 1, 0).bit_length())]


def _moved(xp, x, axis, by, value):
    """Along the axis towards the end, or with a negative number towards the beginning; the value fills the gap."""
    return xp.pad(x, [(by, -by) if i == axis % x.ndim else (0, 0) for i in range(x.ndim)], value)
