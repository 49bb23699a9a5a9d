"""A linear function with noise."""

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error
from ._random_bits import RandomBits, fifths


class SyntheticRegression(Dataset):
    """A linear function with noise: target = x @ rule + noise * u, where x, the rule and u are uniform from -1 to 1.

    The smallest mean squared error that can be expected is noise**2 / 3, the variance of the noise.
    """

    size: int = 1000
    features: int = 10
    targets: int = 1
    noise: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.features < 1 or self.targets < 1 or not self.noise >= 0:
            raise Deep500Error(
                f"features is {self.features}, targets is {self.targets} and noise is {self.noise}: there "
                "is 1 of each at least, and noise is not negative"
            )

    def load(self) -> dict[str, Split]:
        parts = fifths(self.size)
        bits = RandomBits(self.seed)
        rule = bits.uniform(self.features, self.targets)
        x = bits.uniform(self.size, self.features)
        noise = self.noise * bits.uniform(self.size, self.targets)
        target = x @ rule + noise
        splits: dict[str, Split] = {}
        for name, rows in parts.items():
            inputs = x[rows].astype("float32")
            outputs = target[rows].astype("float32")
            splits[name] = Split({"x": inputs, "target": outputs})
        return splits
