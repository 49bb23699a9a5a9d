"""Files that are damaged anywhere are refused in one line, or read; nothing else happens."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import PIL.Image
import pytest

import deep500 as d5
from deep500.errors import Deep500Error

from . import making


def numpy_files(folder: Path) -> None:
    np.save(folder / "x.npy", np.random.default_rng(0).random((20, 3)))
    np.save(folder / "label.npy", np.arange(20) % 3)


def npz_file(folder: Path) -> None:
    values = np.random.default_rng(0).random((20, 3))
    np.savez_compressed(folder / "all.npz", x=values, label=np.arange(20) % 3)


def hdf5_file(folder: Path) -> None:
    with h5py.File(folder / "data.h5", "w") as file:
        file["x"] = np.random.default_rng(0).random((20, 3))
        file.create_dataset(
            "label", data=np.arange(20) % 3, compression="gzip", chunks=(5,)
        )


def csv_file(folder: Path) -> None:
    rows = [f"{number},{number * number},{number % 3}" for number in range(20)]
    (folder / "t.csv").write_text("\n".join(["a,b,c", *rows]))


def text_file(folder: Path) -> None:
    (folder / "t.txt").write_text("the quick brown fox – jumps " * 20)


def pngs(folder: Path) -> None:
    for label in "ab":
        (folder / label).mkdir()
        for number in range(4):
            image = PIL.Image.fromarray(making.picture(number, 6, 6))
            image.save(folder / label / f"{number}.png")


Format = tuple[Callable[[Path], object], str, dict[str, Any]]
FORMATS: dict[str, Format] = {
    "idx": (making.mnist, "mnist", {}),
    "idx.gz": (lambda folder: making.mnist(folder, packed=True), "mnist", {}),
    "cifar": (lambda folder: making.cifar10(folder, 3), "cifar10", {}),
    "jpeg": (
        lambda folder: making.jpegs(folder, 2, 3),
        "image_folder",
        {"height": 16, "width": 24},
    ),
    "jpeg by pillow": (
        lambda folder: making.jpegs(folder, 2, 3),
        "image_folder",
        {"decoder": "pillow"},
    ),
    "png": (pngs, "image_folder", {}),
    "npy": (numpy_files, "numpy_files", {}),
    "npz": (npz_file, "numpy_files", {"file": "all.npz"}),
    "hdf5": (hdf5_file, "hdf5_file", {"file": "data.h5"}),
    "csv": (csv_file, "csv_file", {"file": "t.csv"}),
    "text": (text_file, "text_file", {"file": "t.txt", "length": 8}),
}


def mutated(contents: bytes, random: np.random.Generator) -> bytes:
    """Cut off, with some bytes changed (more often near the start, where headers are), or with bytes put in."""
    kind = random.integers(4)
    place = int(len(contents) * random.random() ** 3)
    if kind == 0:
        return contents[:place]
    if kind == 1:
        return (
            contents[:place]
            + random.bytes(int(random.integers(1, 9)))
            + contents[place:]
        )
    changed = bytearray(contents)
    for _ in range(random.integers(1, 6)):
        place = int(len(contents) * random.random() ** 3)
        changed[place] = random.integers(256)
    return bytes(changed)


def read_everything(name: str, folder: Path, settings: dict[str, Any]) -> None:
    for split in d5.datasets.load(name, folder=str(folder), **settings).values():
        split.batch(slice(None))


def check_mutations(kind: str, folder: Path, count: int, seed: int) -> int:
    """How many of the damaged copies are refused."""
    make, name, settings = FORMATS[kind]
    make(folder / "good")
    read_everything(name, folder / "good", settings)
    random = np.random.default_rng(seed)
    refused = 0
    for number in range(count):
        bad = folder / str(number)
        shutil.copytree(folder / "good", bad)
        files = sorted(path for path in bad.rglob("*") if path.is_file())
        victim = files[random.integers(len(files))]
        victim.write_bytes(mutated(victim.read_bytes(), random))
        try:
            read_everything(name, bad, settings)
        except Deep500Error as error:
            assert "\n" not in str(error)
            refused += 1
        shutil.rmtree(bad)
    return refused


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_are_refused_or_read(kind: str, tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    assert check_mutations(kind, tmp_path, 40, seed=1) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_many_damaged_files_are_refused_or_read(kind: str, tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    assert check_mutations(kind, tmp_path, 2000, seed=2) > 100
