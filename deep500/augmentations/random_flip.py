"""Every other picture as in a mirror."""

import numpy as np

from ..contracts.augmentation import Draws, ImageAugmentation


class RandomFlip(ImageAugmentation):
    """Exchanges left and right with this probability."""

    probability: float = 0.5

    def change(self, pictures: np.ndarray, draws: Draws) -> np.ndarray:
        chosen = draws.uniform(1)[:, 0] < self.probability
        flipped = pictures.copy()
        flipped[chosen] = pictures[chosen][..., ::-1]
        return flipped
