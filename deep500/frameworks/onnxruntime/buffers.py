"""Double buffers for the values that a training step replaces, so that it neither copies nor overwrites them."""

from collections.abc import Mapping

import numpy as np

from ...contracts.executor import Values
from ...contracts.layout import Layout
from .providers import Provider
from .values import from_numpy


class Buffers:
    """Two sets of values by name: a step reads the current set and writes the other one, then they are swapped.

    Values that never change are the same in both sets.
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
        value = from_numpy(np.asarray(array, order="C"))
        self.current[name].update_inplace(value)


class SeparateValues:
    """The tensors of a layout as OrtValues in memory that the host cannot read, each in memory of its own."""

    def __init__(
        self,
        layout: Layout,
        provider: Provider,
        arrays: Mapping[str, np.ndarray] | None = None,
    ):
        self.vectors: Values = {}  # there are none
        self.tensors: Values = {}
        for name, zeros in layout.views(layout.zeros()).items():
            array = arrays[name] if arrays else zeros
            array = np.array(array, zeros.dtype, order="C")
            self.tensors[name] = from_numpy(array, provider)


class FlatValues:
    """The tensors of a layout as OrtValues over flat NumPy buffers (`arrays`), and the whole buffers (`vectors`)."""

    def __init__(self, layout: Layout, arrays: Mapping[str, np.ndarray] | None = None):
        if arrays:
            self.arrays = layout.gather(arrays)
        else:
            self.arrays = layout.zeros()
        self.vectors: Values = {}
        for dtype, buffer in self.arrays.items():
            self.vectors[dtype] = from_numpy(buffer)
        self.tensors: Values = {}
        for name, view in layout.views(self.arrays).items():
            self.tensors[name] = from_numpy(view)
