"""Runs operators on NumPy arrays in the host's memory, for values that are needed before a framework can start."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contracts.operator import Operator
from .reference import FRAMEWORK


class Host:
    """The reference framework behind the interface that `contracts` expects of the host."""

    def evaluate(self, operator: Operator, inputs: Sequence[Any]) -> list[np.ndarray]:
        """Return the outputs of one operator."""
        return FRAMEWORK.evaluate(operator, inputs)
