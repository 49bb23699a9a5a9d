from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)


class CenterCropPad(Operator):
    """The middle of the input where an axis is longer than asked, zeros around it where it is shorter."""

    since = 18
    axis_range = of_first_input
    axes: Ints = None

    def forward(self, xp, input_data, shape: Ints):  # type: ignore[no-untyped-def]
        return xp.pad(input_data, self._amounts(input_data.shape, shape))

    def backward(self, xp, dy, input_data, shape):
        return xp.pad(dy, [(-lo, -hi) for lo, hi in self._amounts(input_data.shape, shape)])

    def infer(self, input_data, shape):
        amounts = self._amounts(input_data.shape, shape)
        return (
            TensorSpec(
                tuple(n + lo + hi for n, (lo, hi) in zip(input_data.shape, amounts, strict=True)),
                input_data.dtype,
            ),
        )

    def flops(self, input_data, shape):
        return 0

    def _amounts(self, old, shape):
        """What is added (or cut: negative) at both ends of every axis; an odd rest goes to the end."""
        amounts = [(0, 0)] * len(old)
        for axis, n in zip(range(len(old)) if self.axes is None else self.axes, shape, strict=True):
            less, sign = abs(n - old[axis]) // 2, 1 if n > old[axis] else -1
            amounts[axis] = (sign * less, n - old[axis] - sign * less)
        return amounts

    cases = (
        case(input_data=(5, 4), shape=[2, 7]),
        case({"axes": (-1, 0)}, input_data=(4, 2, 3), shape=[6, 3]),
    )
