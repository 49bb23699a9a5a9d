"""Random images with a rule that can be learnt, made so that no two pixels of an image are equal."""

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error

STREAM = (
    1 << 63
)  # keeps the data's random numbers apart from those of samplers, whose second key is the epoch


class SyntheticImages(Dataset):
    """Each image shuffles the same 64 evenly spaced values; a random linear rule over them gives its class.

    Pixels differ by 1/64 at least, so that rounding decides no maximum; all is whole numbers until the last division,
    so that the data are the same everywhere.
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
        bits, pixels = (
            np.random.Philox(key=[self.seed, STREAM]),
            int(np.prod(self.shape)),
        )
        rule = (bits.random_raw(pixels * self.classes) % 201).astype(np.int64).reshape(
            pixels, self.classes
        ) - 100
        ranks = np.argsort(
            bits.random_raw(self.size * pixels).reshape(self.size, pixels),
            axis=1,
            kind="stable",
        )
        x = ((2 * ranks + 1) / (2 * pixels)).astype(np.float32).reshape(-1, *self.shape)
        label = np.argmax((2 * ranks - pixels + 1) @ rule, axis=1).astype(np.int64)
        fifth = self.size // 5
        cuts = {
            "train": slice(0, -2 * fifth),
            "validation": slice(-2 * fifth, -fifth),
            "test": slice(-fifth, None),
        }
        return {
            name: Split({"x": x[rows], "label": label[rows]})
            for name, rows in cuts.items()
        }
