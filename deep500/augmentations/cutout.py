"""Cuts a hole into pictures."""

import numpy as np

from ..contracts.augmentation import Draws, ImageAugmentation
from ..errors import Deep500Error


class Cutout(ImageAugmentation):
    """Sets a random square of `size` pixels to 0; its centre is any pixel, so that a part may lie outside."""

    size: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1:
            raise Deep500Error(
                f"the size of Cutout is {self.size}: it is 1 pixel at least"
            )

    def change(self, pictures: np.ndarray, draws: Draws) -> np.ndarray:
        height, width = pictures.shape[2:]
        centres = (draws.uniform(2) * (height, width)).astype(np.int64)
        starts = centres - self.size // 2
        ends = starts + self.size
        changed = pictures.copy()
        first_pixels, end_pixels = np.maximum(starts, 0), np.maximum(ends, 0)
        for picture, first, end in zip(changed, first_pixels, end_pixels, strict=True):
            rows = slice(first[0], end[0])
            columns = slice(first[1], end[1])
            picture[:, rows, columns] = 0
        return changed
