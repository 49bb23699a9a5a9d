"""Small files in the standard formats of data sets."""

import gzip
import struct
from pathlib import Path

import numpy as np
import PIL.Image

MNIST = {
    "train-images-idx3-ubyte": (40, 28, 28),
    "train-labels-idx1-ubyte": (40,),
    "t10k-images-idx3-ubyte": (12, 28, 28),
    "t10k-labels-idx1-ubyte": (12,),
}


def idx(values: np.ndarray) -> bytes:
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return header + values.astype(np.uint8).tobytes()


def mnist(folder: Path, packed: bool = False) -> dict[str, np.ndarray]:
    """The four files; returns what is in them."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    arrays: dict[str, np.ndarray] = {}
    for name, shape in MNIST.items():
        values = (
            random.integers(0, 256, shape)
            if len(shape) > 1
            else np.arange(shape[0]) % 10
        )
        arrays[name] = values.astype(np.uint8)
        contents = idx(arrays[name])
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(contents))
        else:
            (folder / name).write_bytes(contents)
    return arrays


def cifar10(folder: Path, records: int = 8) -> dict[str, np.ndarray]:
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    arrays: dict[str, np.ndarray] = {}
    for name in (
        *(f"data_batch_{number}.bin" for number in range(1, 6)),
        "test_batch.bin",
    ):
        values = random.integers(0, 256, (records, 3073)).astype(np.uint8)
        values[:, 0] %= 10
        arrays[name] = values
        (folder / name).write_bytes(values.tobytes())
    return arrays


def cifar100(folder: Path, records: int = 30) -> dict[str, np.ndarray]:
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(2)
    arrays: dict[str, np.ndarray] = {}
    for name in ("train.bin", "test.bin"):
        values = random.integers(0, 256, (records, 3074)).astype(np.uint8)
        values[:, 0] %= 20
        values[:, 1] %= 100
        arrays[name] = values
        (folder / name).write_bytes(values.tobytes())
    return arrays


def picture(seed: int, height: int = 16, width: int = 24) -> np.ndarray:
    """Smooth enough for JPEG to keep it, rough enough to differ from others."""
    random = np.random.default_rng(seed)
    phases = random.random(3) * 6
    y, x = np.mgrid[0:height, 0:width]
    waves = np.stack(
        [np.sin(x / 3 + phase) * np.cos(y / 4 - phase) for phase in phases], -1
    )
    return (128 + 100 * waves).astype(np.uint8)


def jpegs(folder: Path, classes: int = 3, each: int = 6, **size: int) -> None:
    for label in range(classes):
        class_folder = folder / f"class_{label}"
        class_folder.mkdir(parents=True)
        for number in range(each):
            image = PIL.Image.fromarray(picture(100 * label + number, **size))
            image.save(class_folder / f"{number}.jpg", quality=92)
