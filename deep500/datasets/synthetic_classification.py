"""Clouds of points, one for each class."""

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error
from ._random_bits import RandomBits, fifths


class SyntheticClassification(Dataset):
    """Clouds of points, one for each class.

    Every class has a centre in a cube; a point is its centre plus `spread` times the sum of four random numbers. The
    classes alternate, so that all are equally frequent. A smaller spread is easier to learn.
    """

    size: int = 1000
    features: int = 20
    classes: int = 4  # type: ignore[misc]
    spread: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.features < 1 or self.classes < 2 or not self.spread >= 0:
            raise Deep500Error(
                f"features is {self.features}, classes is {self.classes} and spread is {self.spread}: "
                "there is 1 feature at least, there are 2 classes, and a spread is not negative"
            )

    def load(self) -> dict[str, Split]:
        parts = fifths(self.size)
        bits = RandomBits(self.seed)
        centres = bits.uniform(self.classes, self.features)
        label = np.arange(self.size) % self.classes
        noise = bits.uniform(4, self.size, self.features).sum(axis=0)
        x = (centres[label] + self.spread * noise).astype(np.float32)
        splits = {}
        for name, rows in parts.items():
            splits[name] = Split({"x": x[rows], "label": label[rows]})
        return splits
