"""Optimizers as ONNX has them: the rate, the count of steps before, then all parameters, all gradients, all states."""

from typing import ClassVar

from ..contracts.operator import Operator


class Rule(Operator):
    """A subclass says how one parameter changes, and how many states each has."""

    domain = "ai.onnx.preview.training"
    integers = ("t",)
    outputs = ("*ys",)
    states: ClassVar[int]

    def update(self, xp, r, t, x, g, *state):
        """The new parameter and the new states."""
        raise NotImplementedError

    def forward(self, xp, r, t, *tensors):
        found = [self.update(xp, r, t, *one) for one in zip(*self._groups(tensors), strict=True)]
        return tuple(value for group in zip(*found, strict=True) for value in group)

    def infer(self, r, t, *tensors):
        params, _, *states = self._groups(tensors)
        return *params, *(state for group in states for state in group)

    def flops(self, r, t, *tensors):
        return 6 * self.states * sum(x.size for x in self._groups(tensors)[0])

    def _groups(self, tensors):
        count, rest = divmod(len(tensors), 2 + self.states)
        if rest:
            raise ValueError(
                f"{len(tensors)} tensors are no parameters with a gradient and {self.states} states each"
            )
        return [tensors[i * count : (i + 1) * count] for i in range(2 + self.states)]
