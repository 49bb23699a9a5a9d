"""Values that a training step replaces: two sets that take turns, so that nothing is copied and nothing overwritten."""

from collections.abc import Mapping

import numpy as np
from onnxruntime import OrtValue  # type: ignore[import-untyped]

from ...contracts.executor import Values
from ...contracts.layout import Layout
from .values import from_numpy


class Buffers:
    """Two sets of values by name: a step reads the current one and writes the other, then they change places.

    Values that never change are the same in both.
    """

    def __init__(self, first: Values, second: Values):
        self.sets = (first, first | second)
        self.turn = 0

    @property
    def current(self) -> Values:
        return self.sets[self.turn]

    def swap(self) -> None:
        self.turn ^= 1

    def write(self, name: str, array: np.ndarray) -> None:
        """Set one value in place."""
        self.current[name].update_inplace(from_numpy(np.asarray(array, order="C")))


class FlatValues:
    """The tensors of a layout as values over flat buffers in NumPy's memory, and the buffers as values themselves."""

    def __init__(self, layout: Layout, arrays: Mapping[str, np.ndarray] | None = None):
        self.arrays = layout.gather(arrays) if arrays else layout.zeros()
        self.vectors = {
            dtype: from_numpy(buffer) for dtype, buffer in self.arrays.items()
        }
        views = layout.views(self.arrays)
        self.tensors: Values = {name: from_numpy(view) for name, view in views.items()}


def owned(array: np.ndarray) -> OrtValue:
    """A value of its own with these contents."""
    return from_numpy(np.array(array, order="C"))
