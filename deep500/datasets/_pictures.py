"""Pictures in files, as a column that is read by index."""

import hashlib
from collections.abc import Sequence

import numpy as np

from ..contracts.dataset import Bounds, Column
from ..errors import Deep500Error, visible
from ._columns import SCALE
from ._decoding import decoder_named


class Pictures(Column):
    """Files of pictures (channel, row, column), decoded when they are read: float32 from 0 to 1, or the bytes."""

    def __init__(
        self,
        paths: Sequence[str],
        size: tuple[int, int],
        decoder: str = "auto",
        dtype: str = "float32",
    ):
        self.paths = paths
        self.size = size
        self.decode = decoder_named(decoder)
        self.shape = (len(paths), 3, *size)
        self.dtype = np.dtype(dtype)

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        pixels = np.empty((len(indices), *self.size, 3), np.uint8)
        for picture, index in zip(pixels, indices, strict=True):
            path = self.paths[index]
            try:
                self.decode(_contents(path), picture)
            except Deep500Error as error:
                raise Deep500Error(f"{visible(path)} {error}") from None
        channels_first = pixels.transpose(0, 3, 1, 2)
        if self.dtype == np.uint8:
            out[...] = channels_first
        else:
            np.multiply(channels_first, SCALE, out=out)

    def digest(self) -> str:
        """SHA-256 of the files' contents, in order, and of the size they are decoded to."""
        total = hashlib.sha256(repr(self.size).encode())
        for path in self.paths:
            total.update(hashlib.sha256(_contents(path)).digest())
        return total.hexdigest()

    def bounds(self) -> Bounds:
        return Bounds(0, 255) if self.dtype == np.uint8 else Bounds(0.0, 1.0)


def _contents(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError as error:
        raise Deep500Error(f"cannot be read: {error.strerror}") from None
