"""Pictures in folders, one folder for each class, as in ImageNet."""

import os
from pathlib import Path

import numpy as np

from ..contracts.dataset import Dataset, Split
from ..errors import Deep500Error, visible
from ..home import data_folder
from ._decoding import decoder_named, picture_size
from ._files import checked_file, printable_path, read_bytes
from ._labelled import train_and_validation
from ._parts import random_parts
from ._pictures import Pictures

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
MOST_BYTES = 1 << 28  # the largest file of a picture
Examples = tuple[list[str], np.ndarray]


class ImageFolder(Dataset):
    """JPEG and other pictures in `folder/train/CLASS/`, or in `folder/CLASS/` if there are no folders for splits.

    The test data are those in `test`, or else in `validation` (or `val`), or else the share `test` of all; `validation`
    is a share of the training data unless there are folders for both. Pictures are resized to this height and width, by
    default to those of the first one. The decoder is simplejpeg (for JPEG) or pillow. Pixels are float32 from 0 to 1,
    or bytes (uint8), which Normalise converts to float32.
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
        is_negative = self.height < 0 or self.width < 0
        if is_negative or bool(self.height) != bool(self.width):
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
        if train.is_dir():
            return _class_names(train, root)
        return _class_names(root, root)

    def _parts(self) -> dict[str, Examples]:
        """The pictures and labels of the three splits."""
        root = data_folder(self.folder)
        names = self.class_names()
        train_folder = root / "train"
        if not train_folder.is_dir():
            return self._divided(_examples(root, names, root))
        train = _examples(train_folder, names, root)
        others = []
        for name in ("test", "validation", "val"):
            folder = root / name
            if folder.is_dir():
                others.append(_examples(folder, names, root))
        if not others:
            return self._divided(train)
        if len(others) > 1:
            return {"train": train, "validation": others[1], "test": others[0]}
        size = len(train[0])
        rows = train_and_validation(size, self.validation, self.seed)
        train_rows, validation_rows = rows
        return {
            "train": _chosen(train, train_rows),
            "validation": _chosen(train, validation_rows),
            "test": others[0],
        }

    def _divided(self, examples: Examples) -> dict[str, Examples]:
        """All examples, divided at random into three splits."""
        size = len(examples[0])
        parts = random_parts(size, self.validation, self.test, self.seed)
        return {split: _chosen(examples, rows) for split, rows in parts.items()}

    def _size(self, paths: list[str]) -> tuple[int, int]:
        if self.height:
            return self.height, self.width
        first_path = paths[0]
        try:
            data = read_bytes(Path(first_path), MOST_BYTES)
            return picture_size(data)
        except Deep500Error as error:
            raise Deep500Error(f"{visible(first_path)} {error}") from None


def _class_names(folder: Path, root: Path) -> list[str]:
    """The names of the classes' subfolders; raises a Deep500Error for a link that leads out of the data folder."""
    names = []
    for entry in _entries(folder):
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        if entry.is_symlink() and not _is_inside(entry, root):
            raise Deep500Error(
                f"{visible(entry.path)} leads outside of the folder {printable_path(root)}: a data set "
                "reads only what is in its folder"
            )
        names.append(entry.name)
    if not names:
        raise Deep500Error(
            f"{printable_path(folder)} has no folders, and image_folder needs one folder of pictures for "
            "each class"
        )
    return sorted(names)


def _is_inside(entry: os.DirEntry[str], root: Path) -> bool:
    target = Path(entry.path).resolve()
    return target.is_relative_to(root.resolve())


def _examples(folder: Path, names: list[str], root: Path) -> Examples:
    """All pictures of these classes, by class and then by name, with their labels."""
    unknown = set(_class_names(folder, root)) - set(names)
    if unknown:
        first = visible(min(unknown))
        raise Deep500Error(
            f"{printable_path(folder)} has the class {first!r}, which train has not"
        )
    paths: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(names):
        pictures = _pictures_in(folder / name, root)
        paths += pictures
        labels += [label] * len(pictures)
    if not paths:
        endings = ", ".join(ENDINGS)
        raise Deep500Error(
            f"{printable_path(folder)} holds no pictures in its {len(names)} folders: {endings} are looked for"
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
            # raises an error unless it is a readable file inside the folder
            checked_file(Path(entry.path), root)
        paths.append(entry.path)
    return sorted(paths)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _chosen(examples: Examples, rows: np.ndarray) -> Examples:
    paths, labels = examples
    chosen_paths = [paths[row] for row in rows]
    return chosen_paths, labels[rows]
