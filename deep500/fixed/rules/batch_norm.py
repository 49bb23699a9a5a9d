"""Normalisation of every channel by the statistics of the whole batch, which are added over ranks."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ...contracts.transport import Program
from ...reductions.fixed_point import write_values
from ..library import call
from ..sums import Part, Target
from .base import FixedRule, NodePlace, Ran, Run, only


class BatchNormalizationRule(FixedRule):
    """In training mode only; results are y and the running statistics."""

    reduces = True

    def lacks(self, operator: Operator, place: NodePlace) -> str:
        if {1, 2} - place.params.keys():
            return "whose scale and bias are not trained"
        return only(place, training_mode=1)

    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Program:
        x, scale, bias, running_mean, running_variance = inputs
        subject = f"the input of {place.node.name}"
        mean = yield from self._mean(run, subject, x, None, len(scale))
        ones = np.ones_like(mean)
        centred = None if x is None else _scaled(x, ones, -mean)
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
        y = _scaled(centred, inverse * scale, bias)
        normal = _scaled(centred, inverse, np.zeros_like(mean))
        return (y, *moved), (normal, inverse, scale)

    def _mean(self, run: Run, subject: str, x: Any, y: Any, channels: int) -> Program:
        """The mean of x, times y, over all examples and positions, for every channel."""
        total = np.zeros(channels, np.int64)
        if x is not None:
            elements = run.size * prod(x.shape[2:])
            target = run.target(subject, total, 2.0**run.fraction / elements)
            target.add_channels(x, y, run.part.leaf)
        yield from run.reduce([total])
        mean = np.empty(channels, np.float32)
        write_values(total, run.fraction, mean)
        return mean

    def backward(self, ran: Ran) -> Program:
        """The gradient of x also comes through mean and variance."""
        normal, inverse, scale = ran.saved
        channels = len(scale)
        total = np.zeros(2 * channels, np.int64)
        if normal is not None:
            dy = _slope(ran)
            unit = 2.0**ran.run.fraction
            name = ran.place.params[2]
            bias = ran.run.target(f"the gradient of {name}", total[:channels], unit)
            bias.add_channels(dy, None, ran.run.part.leaf)
            name = ran.place.params[1]
            slope = ran.run.target(f"the gradient of {name}", total[channels:], unit)
            slope.add_channels(dy, normal, ran.run.part.leaf)
        yield from ran.run.reduce([total])
        if normal is None:
            return {}
        both = np.empty(2 * channels, np.float32)
        write_values(total, ran.run.fraction, both)
        elements = np.float32(ran.run.size * prod(normal.shape[2:]))
        shift, slopes = both[:channels] / elements, both[channels:] / elements
        dx = np.empty_like(dy)
        factor = inverse * scale
        call("channel_gradient", *_sizes(dy), dy, normal, shift, slopes, factor, dx)
        return {0: dx}

    def collect(self, ran: Ran, position: int, part: Part, target: Target) -> None:
        dy = part.rows(_slope(ran))
        normal = part.rows(ran.saved[0]) if position == 1 else None
        target.add_channels(dy, normal, part.leaf)


def _slope(ran: Ran) -> np.ndarray:
    """The gradient of y: zeros if only the running statistics are used."""
    dy = ran.gradients[0]
    if dy is None:
        return np.zeros_like(ran.saved[0])
    return np.ascontiguousarray(dy)


def _scaled(x: np.ndarray, factor: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """x * factor + shift for every channel."""
    x = np.ascontiguousarray(x)
    y = np.empty_like(x)
    call("scale_channels", *_sizes(x), x, factor, shift, y)
    return y


def _sizes(x: np.ndarray) -> tuple[int, int, int]:
    """Examples, channels and positions."""
    return *x.shape[:2], prod(x.shape[2:])
