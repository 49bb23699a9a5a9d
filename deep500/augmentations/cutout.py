"""Pictures with a hole."""

import numpy as np

from ..contracts.augmentation import Draws, ImageAugmentation
from ..errors import Deep500Error


class Cutout(ImageAugmentation):
    """Sets a square of `size` pixels to 0; its centre is any pixel, so that a part may lie outside."""

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
        for picture, (top, left), (bottom, right) in zip(
            changed, starts, ends, strict=True
        ):
            picture[:, max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = 0
        return changed
