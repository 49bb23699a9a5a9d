"""A column of pictures in files, which are read by index."""

import hashlib
from collections.abc import Sequence

import numpy as np

from ..contracts.dataset import Bounds, Column
from ..errors import Deep500Error, visible
from ._columns import SCALE
from ._decoding import decoder_named


class Pictures(Column):
    """Pictures (channel, row, column), decoded when they are read: float32 from 0 to 1, or bytes."""

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
        """SHA-256 of the contents of the files, in order, and of the size of the decoded pictures."""
        total = hashlib.sha256(repr(self.size).encode())
        for path in self.paths:
            file_digest = hashlib.sha256(_contents(path))
            total.update(file_digest.digest())
        return total.hexdigest()

    def bounds(self) -> Bounds:
        if self.dtype == np.uint8:
            return Bounds(0, 255)
        return Bounds(0.0, 1.0)


def _contents(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError as error:
        raise Deep500Error(f"cannot be read: {error.strerror}") from None
