from ..contracts.operator import Operator, TensorSpec, case


class Unsqueeze(Operator):
    """The same elements with new axes of length 1; `axes` counts in the result."""

    def forward(self, xp, data, axes: tuple[int, ...]):  # type: ignore[no-untyped-def]
        return xp.reshape(data, _shape(data.shape, axes))

    def backward(self, xp, dy, data):
        return xp.reshape(dy, data.shape)

    def pytorch(self, torch, data, axes):
        return torch.reshape(data, _shape(data.shape, axes))

    def infer(self, data, axes):
        return (TensorSpec(_shape(data.shape, axes), data.dtype),)

    def axis_range(self, data, axes):
        rank = len(data.shape) + len(axes)
        return range(-rank, rank)

    def flops(self, data, axes):
        return 0

    def bytes_moved(self, data, axes):
        return 0  # a view

    cases = (
        case(data=(3, 2), axes=[0, -1]),
        case(data=(), axes=[0]),
        case(data=(2, 3), axes=[2, 1]),
    )


def _shape(shape, axes):
    rank = len(shape) + len(axes)
    new, dims = {axis % rank for axis in axes}, iter(shape)
    return tuple(1 if i in new else next(dims) for i in range(rank))
