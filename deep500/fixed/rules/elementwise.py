"""Activations that have kernels of their own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..library import call
from .base import FixedRule, NodePlace, Ran, Run


class ReluRule(FixedRule):
    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        x = np.ascontiguousarray(inputs[0])
        y = np.empty_like(x)
        call("relu", x, y, x.size)
        return (y,), y

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        dy = np.ascontiguousarray(ran.gradients[0])
        dx = np.empty_like(dy)
        call("relu_gradient", dy, ran.saved, dx, dy.size)
        return {0: dx}


class GeluRule(FixedRule):
    def forward(self, run: Run, place: NodePlace, inputs: Sequence[Any]) -> Any:
        x = np.ascontiguousarray(inputs[0])
        y = np.empty_like(x)
        call(_kernel(place), x, y, x.size)
        return (y,), x

    def backward(self, ran: Ran) -> Mapping[int, Any]:
        dy = np.ascontiguousarray(ran.gradients[0])
        dx = np.empty_like(dy)
        call(f"{_kernel(ran.place)}_gradient", dy, ran.saved, dx, dy.size)
        return {0: dx}


def _kernel(place: NodePlace) -> str:
    return "gelu_tanh" if place.operator.approximate == "tanh" else "gelu"
