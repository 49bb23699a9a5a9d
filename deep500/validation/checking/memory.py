"""Arrays as a careless operator does not expect them: strided, or between bytes that nobody may touch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

MARGIN = 256  # bytes on either side
LAYOUTS = ("transposed", "sliced")


def laid_out(values: Sequence[Any], layout: str) -> tuple:
    """New arrays with the same values: plain in C order, transposed in Fortran order, sliced with gaps of NaN."""
    return tuple(
        _laid_out(np.asarray(x), layout)
        if isinstance(x, np.ndarray | np.generic)
        else x
        for x in values
    )


def _laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    if layout == "transposed":
        return np.array(x, order="F")
    if layout == "sliced" and x.ndim:
        wide = np.full((*x.shape[:-1], 2 * x.shape[-1]), _gap(x.dtype), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    return np.array(x, order="C")


def _gap(dtype: np.dtype) -> Any:
    return np.nan if dtype.kind in "fV" else 1


class Guard:
    """Memory with margins, all of it filled with one byte before use: what is not written, and what is past the end,
    has that byte."""

    def __init__(self, filling: int):
        self.filling = filling
        self._raw: list[tuple[np.ndarray, int]] = []

    def empty(self, shape: Any, dtype: Any) -> np.ndarray:
        kind = np.dtype(dtype)
        size = int(np.prod(shape)) * kind.itemsize
        raw = np.full(2 * MARGIN + size, self.filling, "uint8")
        self._raw.append((raw, size))
        return raw[MARGIN : MARGIN + size].view(kind).reshape(shape)

    def copy(self, x: np.ndarray) -> np.ndarray:
        made = self.empty(x.shape, x.dtype)
        made[...] = x
        return made

    def margins(self) -> list[np.ndarray]:
        """The bytes on both sides of every array, in the order in which they were handed out."""
        return [
            np.concatenate([raw[:MARGIN], raw[MARGIN + size :]])
            for raw, size in self._raw
        ]

    @contextmanager
    def allocating(self, compiled: Any) -> Iterator[None]:
        """While this lasts, a compiled operator gets its results' memory from here; others have memory of their own."""
        if compiled is None:
            yield
            return
        usual = compiled.allocate
        compiled.allocate = self.empty
        try:
            yield
        finally:
            compiled.allocate = usual
