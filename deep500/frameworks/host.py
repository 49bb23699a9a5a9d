"""Operators on NumPy arrays in the host's memory, for what has to be known before a framework can start."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contracts.operator import Operator
from .reference import FRAMEWORK


class Host:
    """The reference framework, as contracts find it."""

    def evaluate(self, operator: Operator, inputs: Sequence[Any]) -> list[np.ndarray]:
        """The outputs of one operator."""
        return FRAMEWORK.evaluate(operator, inputs)
