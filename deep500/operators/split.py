from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import (
    Ints,
    Operator,
    TensorSpec,
    case,
)


class Split(Operator):
    """The parts of x along an axis: of the sizes in `split`, or num_outputs alike of which the last may be shorter."""

    axis_range = of_first_input
    axis: int = 0
    num_outputs: int | None = None
    outputs = ("*ys",)

    def forward(self, xp, x, split: Ints = None):  # type: ignore[no-untyped-def]
        return tuple(xp.split(x, self._sizes(x.shape, split), self.axis))

    def backward(self, xp, dys):
        return xp.concat(dys, axis=self.axis)

    def pytorch(self, torch, x, split=None):
        return torch.split(x, self._sizes(x.shape, split), self.axis)

    def infer(self, x, split=None):
        axis = self.axis % len(x.shape)
        return tuple(
            TensorSpec((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
            for size in self._sizes(x.shape, split)
        )

    def flops(self, x, split=None):
        return 0

    def _sizes(self, shape, split):
        size, parts = shape[self.axis], self.num_outputs
        if split is not None:
            if sum(split) != size:
                raise ValueError(f"Split cannot make parts of {tuple(split)} of an axis of {size}")
            return list(split)
        if parts is None:
            raise ValueError("Split needs the sizes of its parts or num_outputs")
        if not 1 <= parts <= max(size, 1):
            raise ValueError(f"Split cannot make {parts} parts of an axis of {size}")
        each = -(-size // parts)
        return [max(0, min(each, size - i * each)) for i in range(parts)]

    cases = (
        case({"axis": 1}, x=(2, 6), split=[1, 3, 2]),
        case({"num_outputs": 3}, x=(7, 2)),
        case({"axis": -1}, x=(2, 3), split=[3, 0]),
    )
