"""CIFAR-10: 60,000 pictures of 32 × 32 in ten classes, from the binary version."""

from pathlib import Path

import numpy as np

from ..contracts.dataset import Dataset, Split
from ._cifar_files import cifar_files, read_cifar
from ._labelled import labelled_splits

TRAIN = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST = "test_batch.bin"


class Cifar10(Dataset):
    """Pictures of 32 × 32 in ten classes, from files in the data folder or its `cifar-10-batches-bin`."""

    folder: str = ""
    validation: float = 0.1
    seed: int = 0
    shape = (3, 32, 32)
    classes = 10

    def files(self) -> dict[str, Path]:
        folders = ("cifar-10-batches-bin", "cifar-10-batches-py")
        return cifar_files("cifar10", self.folder, *folders, (*TRAIN, TEST))

    def load(self) -> dict[str, Split]:
        paths = self.files()
        pictures, labels = [], []
        for name in TRAIN:
            file_pictures, file_labels = read_cifar(paths[name], 1, self.classes)
            pictures.append(file_pictures)
            labels.append(file_labels)
        train = pictures, np.concatenate(labels)
        test_pictures, test_labels = read_cifar(paths[TEST], 1, self.classes)
        test = [test_pictures], test_labels
        return labelled_splits(train, test, self.validation, self.seed)
