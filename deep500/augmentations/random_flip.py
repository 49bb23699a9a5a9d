"""Mirrors pictures at random."""

import numpy as np

from ..contracts.augmentation import Draws, ImageAugmentation


class RandomFlip(ImageAugmentation):
    """Flips a picture horizontally with this probability."""

    probability: float = 0.5

    def change(self, pictures: np.ndarray, draws: Draws) -> np.ndarray:
        chosen = draws.uniform(1)[:, 0] < self.probability
        flipped = pictures.copy()
        flipped[chosen] = pictures[chosen][..., ::-1]
        return flipped
