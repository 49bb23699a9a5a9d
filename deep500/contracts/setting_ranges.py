"""The numbers that ONNX allows for a setting of an operator, as a part of its annotation: `Annotated[int, Allowed(1)]`.

Others are refused when the operator is made, in one line.
"""

import math
from dataclasses import dataclass
from typing import Annotated

from .operator import Ints


@dataclass(frozen=True)
class Allowed:
    """The numbers from `least` on: up to `most`, or below `below`."""

    least: float
    most: float = math.inf
    below: float = math.inf

    def __contains__(self, number: float) -> bool:
        return self.least <= number <= self.most and number < self.below

    def __str__(self) -> str:
        text = f"from {self.least:g}"
        if self.most < math.inf:
            return f"{text} to {self.most:g}"
        if self.below < math.inf:
            return f"{text} on and below {self.below:g}"
        return f"{text} on"


Count = Annotated[int, Allowed(1)]
Sizes = Annotated[Ints, Allowed(1)]  # steps, and windows if they may be left out
Window = Annotated[tuple[int, ...], Allowed(1)]
Pads = Annotated[Ints, Allowed(0)]
