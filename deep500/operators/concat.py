from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, TensorSpec, case


class Concat(Operator):
    """The inputs one after the other along an axis."""

    since = 4
    axis_range = of_first_input
    axis: int

    def forward(self, xp, *xs):
        return xp.concat(xs, axis=self.axis)

    def backward(self, xp, dy, xs):
        return xp.split(dy, [x.shape[self.axis] for x in xs], self.axis)

    def pytorch(self, torch, *xs):
        return torch.cat(xs, self.axis)

    def jax(self, jax, *xs):
        return jax.numpy.concatenate(xs, self.axis)

    def tensorflow(self, tf, *xs):
        return tf.concat(xs, self.axis)

    def infer(self, *xs):
        shape = list(xs[0].shape)
        for x in xs:
            if len(x.shape) != len(shape):
                raise ValueError(f"the shapes {xs[0].shape} and {x.shape} differ in rank")
            other = [*x.shape]
            other[self.axis] = shape[self.axis]
            if other != shape:
                raise ValueError(
                    f"the shapes {xs[0].shape} and {x.shape} differ off axis {self.axis}"
                )
        shape[self.axis] = sum(x.shape[self.axis] for x in xs)
        return (TensorSpec(tuple(shape), xs[0].dtype),)

    def flops(self, *xs):
        return 0

    cases = (
        case({"axis": 1}, xs=[(2, 3), (2, 1), (2, 2)]),
        case({"axis": -2}, xs=[(2, 1, 2), (2, 0, 2)]),
        case({"axis": 0}, xs=[(3,)]),
    )
