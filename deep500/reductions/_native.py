"""The inner loops of the reductions in C++; without a compiler NumPy gives the same bits."""

from pathlib import Path

import numpy as np

from ..contracts.reduction import Frame
from ..custom.loops import Loops, width

__all__ = ["call", "frame_of", "library", "only_numpy", "width"]

_LOOPS = Loops(Path(__file__).with_name("_loops.cpp"))
library, only_numpy, call = _LOOPS.library, _LOOPS.only_numpy, _LOOPS.call


def frame_of(values: np.ndarray) -> Frame:
    """How many numbers there are, and the largest magnitude."""
    if not values.size:
        return Frame(0, 0.0)
    most = np.zeros(1)
    if not call(f"largest{width(values.dtype)}", values, values.size, most):
        most[0] = max(values.max(), -values.min())
    return Frame(values.size, float(most[0]))


def plain_sum(values: np.ndarray) -> float:
    """The machine's own sum with vectors: fast, and its bits depend on their width and on the order."""
    total = np.zeros(1)
    if not call(f"plain{width(values.dtype)}", values, values.size, total):
        return float(values.sum())
    return float(total[0])
