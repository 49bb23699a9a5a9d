"""Arrays that a careless operator does not expect: strided, or between bytes that nobody may touch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .formats import Array, Values

MARGIN = 256  # bytes on either side
LAYOUTS = ("transposed", "sliced")


def laid_out(values: Values, layout: str) -> tuple:
    """New arrays with the same values: plain in C order, transposed in Fortran order, sliced with gaps of NaN."""
    new = []
    for value in values:
        if isinstance(value, np.ndarray | np.generic):
            value = _laid_out(np.asarray(value), layout)
        new.append(value)
    return tuple(new)


def _laid_out(x: Array, layout: str) -> Array:
    if layout == "transposed":
        return np.array(x, order="F")
    if layout == "sliced" and x.ndim:
        *sizes, last = x.shape
        gap = np.nan if x.dtype.kind in "fV" else 1
        twice_as_wide = (*sizes, 2 * last)
        wide = np.full(twice_as_wide, gap, x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    return np.array(x, order="C")


class Guard:
    """Memory with margins, all of it filled with one byte: unwritten results and reads past an end show that byte."""

    def __init__(self, filling: int):
        self.filling = filling
        self._raw: list[tuple[Array, int]] = []

    def empty(self, shape: Any, dtype: Any) -> Array:
        kind = np.dtype(dtype)
        size = int(np.prod(shape)) * kind.itemsize
        raw = np.full(2 * MARGIN + size, self.filling, "uint8")
        self._raw.append((raw, size))
        content = raw[MARGIN : MARGIN + size]
        return content.view(kind).reshape(shape)

    def copy(self, x: Array) -> Array:
        copied = self.empty(x.shape, x.dtype)
        copied[...] = x
        return copied

    def margins(self) -> list[Array]:
        """The bytes on both sides of every array, in the order in which they were handed out."""
        margins = []
        for raw, size in self._raw:
            before = raw[:MARGIN]
            after = raw[MARGIN + size :]
            margins.append(np.concatenate([before, after]))
        return margins

    @contextmanager
    def allocating(self, compiled: Any) -> Iterator[None]:
        """Within this context, a compiled operator (not None) gets the memory of its results from here."""
        if compiled is None:
            yield
            return
        usual = compiled.allocate
        compiled.allocate = self.empty
        try:
            yield
        finally:
            compiled.allocate = usual
