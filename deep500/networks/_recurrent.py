"""The base class of recurrent classifiers."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from ._architecture import Architecture
from ._builder import Builder, normal, zeros


class RecurrentClassifier(Architecture):
    """Recurrent layers over a sequence of vectors; the state at its end determines the class."""

    hidden: int = 128
    layers: int = 1
    axes = ("length", "features")
    operator: ClassVar[str]
    gates: ClassVar[int]
    # the operator's attributes besides hidden_size
    attributes: ClassVar[Mapping[str, int]] = {}

    def forward(self, builder: Builder, x: str, outputs: int) -> str:
        x = builder.node("Transpose", (x,), f"{x}.by_step", perm=(1, 0, 2))
        features = builder.shape(x)[-1]
        for layer in range(self.layers):
            name = f"{self.operator.lower()}.{layer}"
            x = self._layer(builder, name, x, features)
            features = self.hidden
        last = self._last_step(builder, x)
        return builder.dense("fc", last, outputs)

    def usual_sizes(self) -> tuple[tuple[int, ...], int]:
        return (28, 28), 10

    def _layer(self, builder: Builder, name: str, x: str, features: int) -> str:
        """The states of all steps, (length, batch, hidden)."""
        hidden = self.hidden
        rows = self.gates * hidden
        start = normal(1 / math.sqrt(3 * hidden))
        weight = builder.param(f"{name}.weight", (1, rows, features), start)
        recurrence = builder.param(f"{name}.recurrence", (1, rows, hidden), start)
        bias = builder.param(f"{name}.bias", (1, 2 * rows), zeros())
        inputs = (x, weight, recurrence, bias)
        attributes: Any = {"hidden_size": hidden, **self.attributes}
        y = builder.node(self.operator, inputs, name, **attributes)
        return builder.node("Squeeze", (y, (1,)), f"{name}.states")

    def _last_step(self, builder: Builder, x: str) -> str:
        last = builder.constant("last_step", -1, "int64")
        return builder.node("Gather", (x, last), f"{x}.last")
