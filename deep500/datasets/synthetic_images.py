"""Random images whose classes can be learnt, generated so that no two pixels of an image are equal."""

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error

# keeps the random numbers of the data apart from those of samplers, whose second key is the epoch
STREAM = 1 << 63


class SyntheticImages(Dataset):
    """Each image shuffles the same 64 evenly spaced values; a random linear function of them determines its class.

    Pixels differ by at least 1/64, so that rounding decides no maximum; the computation uses integers until the last
    division, so that the data are the same on every machine.
    """

    size: int = 1000
    seed: int = 0
    shape = (1, 8, 8)
    classes = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 5 or not 0 <= self.seed < 2**63:
            raise Deep500Error(
                f"size is {self.size} and seed is {self.seed}: SyntheticImages needs a size of at least "
                "5 and a seed from 0 to 2**63 - 1"
            )

    def load(self) -> dict[str, Split]:
        bits = np.random.Philox(key=[self.seed, STREAM])
        pixels = int(np.prod(self.shape))
        rule_bits = bits.random_raw(pixels * self.classes)
        weights = (rule_bits % 201).astype(np.int64) - 100
        rule = weights.reshape(pixels, self.classes)
        rank_bits = bits.random_raw(self.size * pixels)
        by_image = rank_bits.reshape(self.size, pixels)
        ranks = np.argsort(by_image, axis=1, kind="stable")
        values = (2 * ranks + 1) / (2 * pixels)
        x = values.astype(np.float32).reshape(-1, *self.shape)
        centred = 2 * ranks - pixels + 1
        label = np.argmax(centred @ rule, axis=1).astype(np.int64)
        fifth = self.size // 5
        parts = {
            "train": slice(0, -2 * fifth),
            "validation": slice(-2 * fifth, -fifth),
            "test": slice(-fifth, None),
        }
        splits = {}
        for name, rows in parts.items():
            splits[name] = Split({"x": x[rows], "label": label[rows]})
        return splits
