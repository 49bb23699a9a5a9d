"""Shifts and scales pictures."""

from collections.abc import Mapping

import numpy as np

from ..contracts.augmentation import Batch, Draws, ImageAugmentation, Spec
from ..errors import Deep500Error


class Normalise(ImageAugmentation):
    """(x - mean) / deviation as float32, with one number for all channels or one for each.

    For pictures of bytes, these numbers are on the scale from 0 to 255.
    """

    mean: tuple[float, ...] = (0.5,)
    deviation: tuple[float, ...] = (0.5,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.mean or not self.deviation or min(self.deviation) <= 0:
            raise Deep500Error(
                f"Normalise has mean {self.mean} and deviation {self.deviation}: give one number or one "
                "for each channel, and deviations above 0"
            )

    def change(self, pictures: np.ndarray, draws: Draws) -> np.ndarray:
        changed = np.empty(pictures.shape, np.float32)
        self._normalise(pictures, changed)
        return changed

    def write(self, batch: Batch, draws: Draws, out: Mapping[str, np.ndarray]) -> None:
        for name, values in batch.items():
            if name == self.array:
                self._normalise(values, out[name])
            else:
                out[name][...] = values

    def _normalise(self, pictures: np.ndarray, out: np.ndarray) -> None:
        shape = (-1, 1, 1)
        mean = np.array(self.mean, np.float32).reshape(shape)
        inverse = 1 / np.array(self.deviation)
        factor = inverse.astype(np.float32).reshape(shape)
        np.subtract(pictures, mean, out=out, dtype=np.float32)
        out *= factor

    def spec(self, before: Spec) -> Spec:
        channels = before.shape[0]
        for numbers in (self.mean, self.deviation):
            if len(numbers) not in (1, channels):
                raise Deep500Error(
                    f"Normalise has {len(numbers)} numbers, and the pictures have {channels} channels"
                )
        return Spec(before.shape, np.dtype(np.float32))
