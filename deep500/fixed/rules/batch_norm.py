"""Normalisation of every channel by the statistics of the whole batch, which are added over ranks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ...contracts.transport import Program
from ...reductions.fixed_point import write_values
from ..sums import Part, Target
from .base import Gradients, Place, Rule, Run, only


class BatchNormalization(Rule):
    """In training mode only; results are y and the running statistics."""

    reduces = True

    def lacks(self, operator: Operator, place: Place) -> str:
        if {1, 2} - place.params.keys():
            return "whose scale and bias are not trained"
        return only(place, training_mode=1)

    def forward(self, run: Run, place: Place, inputs: Sequence[Any]) -> Program:
        x, scale, bias, running_mean, running_variance = inputs
        subject = f"the input of {place.node.name}"
        mean = yield from self._mean(run, subject, x, None, len(scale))
        centred = None if x is None else x - _wide(mean, x)
        variance = yield from self._mean(run, subject, centred, centred, len(scale))
        one = np.float32(1)
        inverse = one / np.sqrt(variance + np.float32(place.operator.epsilon))
        keep = np.float32(place.operator.momentum)
        moved = [
            keep * running_mean + (one - keep) * mean,
            keep * running_variance + (one - keep) * variance,
        ]
        if centred is None:
            return (None, *moved), (None, inverse, scale)
        y = centred * _wide(inverse * scale, centred) + _wide(bias, centred)
        normal = centred * _wide(inverse, centred)
        return (y, *moved), (normal, inverse, scale)

    def _mean(self, run: Run, subject: str, x: Any, y: Any, channels: int) -> Program:
        """The mean of x, times y, over all examples and positions, for every channel."""
        total = np.zeros(channels, np.int64)
        if x is not None:
            elements = run.size * int(np.prod(x.shape[2:]))
            target = run.target(subject, total, 2.0**run.fraction / elements)
            target.add_channels(x, y, run.part.leaf)
        yield from run.reduce([total])
        mean = np.empty(channels, np.float32)
        write_values(total, run.fraction, mean)
        return mean

    def backward(
        self, run: Run, place: Place, saved: Any, gradients: Gradients
    ) -> Program:
        """The gradient of x also comes through mean and variance."""
        normal, inverse, scale = saved
        channels = len(scale)
        total = np.zeros(2 * channels, np.int64)
        if normal is not None:
            dy = np.ascontiguousarray(gradients[0])
            unit = 2.0**run.fraction
            name = place.params[2]
            bias = run.target(f"the gradient of {name}", total[:channels], unit)
            bias.add_channels(dy, None, run.part.leaf)
            name = place.params[1]
            slope = run.target(f"the gradient of {name}", total[channels:], unit)
            slope.add_channels(dy, normal, run.part.leaf)
        yield from run.reduce([total])
        if normal is None:
            return {}
        both = np.empty(2 * channels, np.float32)
        write_values(total, run.fraction, both)
        elements = np.float32(run.size * int(np.prod(normal.shape[2:])))
        shift, slope_mean = both[:channels] / elements, both[channels:] / elements
        inner = dy - _wide(shift, dy) - normal * _wide(slope_mean, dy)
        return {0: inner * _wide(inverse * scale, dy)}

    def collect(
        self,
        run: Run,
        place: Place,
        saved: Any,
        gradients: Gradients,
        position: int,
        part: Part,
        target: Target,
    ) -> None:
        dy = part.rows(gradients[0])
        normal = part.rows(saved[0]) if position == 1 else None
        target.add_channels(dy, normal, part.leaf)


def _wide(value: np.ndarray, x: np.ndarray) -> Any:
    return value.reshape(1, -1, *[1] * (x.ndim - 2))
