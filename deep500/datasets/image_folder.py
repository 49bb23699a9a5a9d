"""Pictures in folders, one folder for each class, as ImageNet has them."""

import os
from pathlib import Path

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error, visible
from ..home import data_folder
from ._decoding import decoder_named, picture_size
from ._files import checked_file, read_bytes, shown
from ._labelled import train_and_validation
from ._parts import random_parts
from ._pictures import Pictures

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
MOST_BYTES = 1 << 28  # of one picture's file
Examples = tuple[list[str], np.ndarray]


class ImageFolder(Dataset):
    """JPEG and other pictures in `folder/train/CLASS/`, or in `folder/CLASS/` without given splits.

    The test data are those in `test`, or else in `validation` (or `val`), or else the share `test` of all; `validation`
    is a share of the training data unless there are folders for both. Pictures are read with this height and width; by
    default with those of the first one, to which others are resized. The decoder is simplejpeg (for JPEG) or pillow.
    Pixels are float32 from 0 to 1, or the bytes as they are (uint8), which Normalise makes float32.
    """

    folder: str = ""
    height: int = 0
    width: int = 0
    validation: float = 0.1
    test: float = 0.1
    seed: int = 0
    decoder: str = "auto"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.height < 0 or self.width < 0 or bool(self.height) != bool(self.width):
            raise Deep500Error(
                f"height is {self.height} and width is {self.width}: give both, or neither"
            )
        if self.dtype not in ("float32", "uint8"):
            raise Deep500Error(
                f"the dtype of pictures is float32 or uint8, not {self.dtype!r}"
            )
        decoder_named(self.decoder)

    def load(self) -> dict[str, Split]:
        parts = self._parts()
        size = self._size(parts["train"][0])
        splits: dict[str, Split] = {}
        for name, (paths, labels) in parts.items():
            pictures = Pictures(paths, size, self.decoder, self.dtype)
            splits[name] = Split({"x": pictures, "label": labels})
        return splits

    def class_names(self) -> list[str]:
        """The names of the classes, in the order of their labels."""
        root = data_folder(self.folder)
        train = root / "train"
        return _class_names(train if train.is_dir() else root, root)

    def _parts(self) -> dict[str, Examples]:
        """The pictures and labels of the three splits."""
        root = data_folder(self.folder)
        names = self.class_names()
        if not (root / "train").is_dir():
            paths, labels = _examples(root, names, root)
            rows = random_parts(len(paths), self.validation, self.test, self.seed)
            return {split: _chosen(paths, labels, some) for split, some in rows.items()}
        train = _examples(root / "train", names, root)
        others = []
        for folder in ("test", "validation", "val"):
            if (root / folder).is_dir():
                others.append(_examples(root / folder, names, root))
        if not others:
            rows = random_parts(len(train[0]), self.validation, self.test, self.seed)
            return {split: _chosen(*train, some) for split, some in rows.items()}
        if len(others) > 1:
            return {"train": train, "validation": others[1], "test": others[0]}
        train_rows, chosen_rows = train_and_validation(
            len(train[0]), self.validation, self.seed
        )
        return {
            "train": _chosen(*train, train_rows),
            "validation": _chosen(*train, chosen_rows),
            "test": others[0],
        }

    def _size(self, paths: list[str]) -> tuple[int, int]:
        if self.height:
            return self.height, self.width
        try:
            return picture_size(read_bytes(Path(paths[0]), MOST_BYTES))
        except Deep500Error as error:
            raise Deep500Error(f"{visible(paths[0])} {error}") from None


def _class_names(folder: Path, root: Path) -> list[str]:
    """The subfolders that stand for classes; what leads outside of the data folder is refused."""
    names = []
    for entry in _entries(folder):
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        if entry.is_symlink() and not Path(entry.path).resolve().is_relative_to(
            root.resolve()
        ):
            raise Deep500Error(
                f"{visible(entry.path)} leads outside of the folder {shown(root)}: a data set "
                "reads only what is in its folder"
            )
        names.append(entry.name)
    if not names:
        raise Deep500Error(
            f"{shown(folder)} has no folders, and image_folder needs one folder of pictures for "
            "each class"
        )
    return sorted(names)


def _examples(folder: Path, names: list[str], root: Path) -> Examples:
    """All pictures of these classes, by class and then by name, with their labels."""
    unknown = set(_class_names(folder, root)) - set(names)
    if unknown:
        first = visible(min(unknown))
        raise Deep500Error(
            f"{shown(folder)} has the class {first!r}, which train has not"
        )
    paths: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(names):
        of_class = _pictures_in(folder / name, root)
        paths += of_class
        labels += [label] * len(of_class)
    if not paths:
        raise Deep500Error(
            f"{shown(folder)} holds no pictures in its {len(names)} folders: {', '.join(ENDINGS)} "
            "are looked for"
        )
    return paths, np.array(labels, np.int64)


def _pictures_in(folder: Path, root: Path) -> list[str]:
    if not folder.is_dir():
        return []
    paths = []
    for entry in _entries(folder):
        if not entry.name.lower().endswith(ENDINGS):
            continue
        if entry.is_symlink() or not entry.is_file():
            checked_file(Path(entry.path), root)  # refuses what it should not be
        paths.append(entry.path)
    return sorted(paths)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _chosen(paths: list[str], labels: np.ndarray, rows: np.ndarray) -> Examples:
    return [paths[row] for row in rows], labels[rows]
