"""CIFAR-100: 60,000 pictures of 32 × 32 in a hundred classes, from the binary version."""

from pathlib import Path

from ..contracts.dataset import Dataset, Split
from ._cifar_files import cifar_files, read_cifar
from ._labelled import labelled_splits


class Cifar100(Dataset):
    """Pictures of 32 × 32 in 100 classes (the fine ones), from files in the data folder or its `cifar-100-binary`."""

    folder: str = ""
    validation: float = 0.1
    seed: int = 0
    shape = (3, 32, 32)
    classes = 100

    def files(self) -> dict[str, Path]:
        folders = ("cifar-100-binary", "cifar-100-python")
        files = ("train.bin", "test.bin")
        return cifar_files("cifar100", self.folder, *folders, files)

    def load(self) -> dict[str, Split]:
        parts = []
        for path in self.files().values():
            pictures, labels = read_cifar(path, 2, self.classes)
            parts.append(([pictures], labels))
        train, test = parts
        return labelled_splits(train, test, self.validation, self.seed)
