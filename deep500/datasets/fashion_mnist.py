"""Fashion-MNIST: 70,000 pictures of clothes of 28 × 28, from four IDX files."""

from pathlib import Path

from ..contracts.dataset import Dataset, Split
from ._mnist_files import mnist_files, mnist_splits


class FashionMnist(Dataset):
    """Clothes of 28 × 28, from four files in the data folder or its `fashion_mnist` or `FashionMNIST/raw`.

    The files are plain or gzipped. They have the same names as those of MNIST: keep the two apart by these folders.
    """

    folder: str = ""
    validation: float = 0.1
    seed: int = 0
    shape = (1, 28, 28)
    classes = 10

    def files(self) -> dict[str, Path]:
        subfolders = ("fashion_mnist", "FashionMNIST/raw")
        return mnist_files("fashion_mnist", self.folder, subfolders)

    def load(self) -> dict[str, Split]:
        return mnist_splits(self.files(), self.validation, self.seed)
