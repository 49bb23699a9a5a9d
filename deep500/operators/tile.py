from ..contracts.operator import Operator, TensorSpec, case


class Tile(Operator):
    """x repeated along every axis."""

    since = 6

    def forward(self, xp, x, repeats: tuple[int, ...]):  # type: ignore[no-untyped-def]
        apart = xp.reshape(x, _interleaved((1,) * x.ndim, x.shape))
        return xp.reshape(
            xp.broadcast_to(apart, _interleaved(repeats, x.shape)), _shape(x.shape, repeats)
        )

    def backward(self, xp, dy, x, repeats):
        copies = xp.reshape(dy, _interleaved(repeats, x.shape))
        return xp.sum(copies, axis=tuple(range(0, 2 * x.ndim, 2)))

    def pytorch(self, torch, x, repeats):
        return torch.tile(x, repeats)

    def jax(self, jax, x, repeats):
        return jax.numpy.tile(x, repeats)

    def tensorflow(self, tf, x, repeats):
        return tf.tile(x, repeats)

    def check(self, x, repeats):
        self.infer(x, repeats)

    def infer(self, x, repeats):
        return (TensorSpec(_shape(x.shape, repeats), x.dtype),)

    def flops(self, x, repeats):
        return 0

    cases = (
        case(x=(2, 3), repeats=[2, 1]),
        case(x=(2, 1, 2), repeats=[1, 3, 2]),
        case(x=(2,), repeats=[0]),
    )


def _interleaved(repeats, shape):
    return tuple(n for pair in zip(repeats, shape, strict=True) for n in pair)


def _shape(shape, repeats):
    if len(repeats) != len(shape):
        raise ValueError(
            f"Tile needs a number for each of {len(shape)} axes, and repeats is {tuple(repeats)}"
        )
    return tuple(n * times for n, times in zip(shape, repeats, strict=True))
