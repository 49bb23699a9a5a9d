"""MNIST: 70,000 handwritten digits of 28 × 28, from the four IDX files."""

from pathlib import Path

from ..contracts.dataset import Dataset, Split
from ._mnist_files import mnist_files, mnist_splits


class Mnist(Dataset):
    """Handwritten digits of 28 × 28, from four files in the data folder or its `mnist` or `MNIST/raw`.

    The files are plain or gzipped. `validation` is the share of the training examples for validation, drawn with the
    seed.
    """

    folder: str = ""
    validation: float = 0.1
    seed: int = 0
    shape = (1, 28, 28)
    classes = 10

    def files(self) -> dict[str, Path]:
        return mnist_files("mnist", self.folder, ("mnist", "MNIST/raw"))

    def load(self) -> dict[str, Split]:
        return mnist_splits(self.files(), self.validation, self.seed)
