"""Small data sets in the standard formats, for recipes that read files."""

import struct
from pathlib import Path

import numpy as np

LINE = "to be, or not to be: that is the question. whether tis nobler in the mind to suffer\n"


def write_mnist(folder: Path, examples: int = 96) -> None:
    """The four IDX files, with pictures whose brightest row says their class."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", examples), ("t10k", examples // 2)):
        rng = np.random.default_rng(count)
        labels = (np.arange(count) % 10).astype(np.uint8)
        pictures = rng.integers(0, 60, (count, 28, 28), dtype=np.uint8)
        pictures[np.arange(count), 2 * labels + 4] = 250
        images = struct.pack(">IIII", 0x803, count, 28, 28) + pictures.tobytes()
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
        numbers = struct.pack(">II", 0x801, count) + labels.tobytes()
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(numbers)


def write_cifar10(folder: Path, per_file: int = 16) -> None:
    """The six files of the binary version: a label and 3072 bytes for each picture."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    for seed, name in enumerate(names):
        rng = np.random.default_rng(seed)
        records = rng.integers(0, 256, (per_file, 3073), dtype=np.uint8)
        records[:, 0] = np.arange(per_file) % 10
        (folder / name).write_bytes(records.tobytes())


def write_text(folder: Path, lines: int = 40) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "input.txt").write_text(LINE * lines)
