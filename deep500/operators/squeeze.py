from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)


class Squeeze(Operator):
    """The same elements without some axes of length 1, or without all of those."""

    axis_range = of_first_input

    def forward(self, xp, data, axes: Ints = None):  # type: ignore[no-untyped-def]
        return xp.reshape(data, _shape(data.shape, axes))

    def backward(self, xp, dy, data):
        return xp.reshape(dy, data.shape)

    def pytorch(self, torch, data, axes=None):
        return torch.reshape(data, _shape(data.shape, axes))

    def infer(self, data, axes=None):
        return (TensorSpec(_shape(data.shape, axes), data.dtype),)

    def flops(self, data, axes=None):
        return 0

    def bytes_moved(self, data, axes=None):
        return 0  # a view

    cases = (
        case(data=(1, 3, 1, 2), axes=[-2]),
        case(data=(1, 3, 1)),
        case(data=(1, 1), axes=[0, 1]),
    )


def _shape(shape, axes):
    gone = (
        [i for i, n in enumerate(shape) if n == 1]
        if axes is None
        else [axis % len(shape) for axis in axes]
    )
    if any(shape[i] != 1 for i in gone):
        raise ValueError(
            f"only axes of length 1 can be squeezed out of {tuple(shape)}, not {tuple(axes)}"
        )
    return tuple(n for i, n in enumerate(shape) if i not in gone)
