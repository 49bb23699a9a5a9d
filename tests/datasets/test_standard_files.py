"""Data sets that are read from files in their standard formats, and what is said about files that are wrong."""

import gzip
import hashlib
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.datasets import _files, _idx
from deep500.errors import Deep500Error

from . import making


def refusal(name: str, **settings: Any) -> str:
    """The one line with which a data set is refused."""
    with pytest.raises(Deep500Error) as caught:
        splits = d5.datasets.load(name, **settings)
        for split in splits.values():
            split.batch(slice(None))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("name", "subfolder"),
    [("mnist", ""), ("mnist", "MNIST/raw"), ("fashion_mnist", "fashion_mnist")],
)
def test_idx_files_are_read_as_they_are(
    tmp_path: Path, name: str, subfolder: str, packed: bool
) -> None:
    arrays = making.mnist(tmp_path / subfolder, packed)
    splits = d5.datasets.load(name, folder=str(tmp_path), validation=0.25)
    assert {part: len(split) for part, split in splits.items()} == {
        "train": 30,
        "validation": 10,
        "test": 12,
    }
    test = splits["test"].batch(slice(None))
    pictures = arrays["t10k-images-idx3-ubyte"]
    assert np.array_equal(np.rint(test["x"][:, 0] * 255), pictures)
    assert np.array_equal(test["label"], arrays["t10k-labels-idx1-ubyte"])
    assert test["x"].dtype == np.float32 and test["label"].dtype == np.int64
    seen = [splits[part].batch(slice(None)) for part in ("train", "validation")]
    rows = {
        row.tobytes()
        for part in seen
        for row in np.rint(part["x"] * 255).astype(np.uint8)
    }
    assert rows == {row.tobytes() for row in arrays["train-images-idx3-ubyte"]}


def test_the_data_folder_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making.mnist(tmp_path / "mnist")
    monkeypatch.setenv("DEEP500_DATA", str(tmp_path))
    assert len(d5.datasets.load("mnist")["test"]) == 12


def test_plain_and_packed_files_are_the_same_data(tmp_path: Path) -> None:
    making.mnist(tmp_path / "a")
    making.mnist(tmp_path / "b", packed=True)
    plain, packed = (
        d5.datasets.load("mnist", folder=str(tmp_path / name))["train"].digest()
        for name in "ab"
    )
    assert plain == packed


def test_checksums_of_files_are_their_sha256(tmp_path: Path) -> None:
    making.mnist(tmp_path)
    sums = d5.datasets.Mnist(str(tmp_path)).checksums()
    path = tmp_path / "t10k-labels-idx1-ubyte"
    assert sums["test labels"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(sums) == 4 and d5.datasets.Digits().checksums() == {}


def test_missing_files_are_named_with_where_they_were_looked_for(
    tmp_path: Path,
) -> None:
    said = refusal("mnist", folder=str(tmp_path))
    for word in (
        *making.MNIST,
        ".gz",
        str(tmp_path / "mnist"),
        "folder=",
        "--data",
        "DEEP500_DATA",
    ):
        assert word in said
    making.mnist(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    said = refusal("mnist", folder=str(tmp_path))
    assert "t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte.gz" in said
    assert "train-images" not in said


def rewrite(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        path = folder / name
        path.write_bytes(change(path.read_bytes()))

    return act


def labels_of(label: int) -> Callable[[bytes], bytes]:
    return lambda contents: contents[:-1] + bytes([label])


def announce(*sizes: int) -> Callable[[bytes], bytes]:
    return lambda contents: (
        contents[:4] + struct.pack(f">{len(sizes)}I", *sizes) + contents[16:]
    )


TRAIN, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
BAD_IDX = {
    "truncated": (
        rewrite(TRAIN, lambda c: c[:-9]),
        "is truncated: the shape (40, 28, 28)",
    ),
    "too long": (rewrite(TRAIN, lambda c: c + b"x"), "is too long"),
    "no header": (
        rewrite(TRAIN, lambda c: c[:7]),
        "is truncated: it ends within its header",
    ),
    "empty file": (rewrite(TRAIN, lambda c: b""), "begins with nothing"),
    "wrong magic": (
        rewrite(TRAIN, lambda c: b"\x89PNG" + c[4:]),
        "begins with 89504e47",
    ),
    "labels as pictures": (
        rewrite(TRAIN, lambda c: b"\0\0\x08\x01" + c[4:]),
        "begins with 00000801",
    ),
    "no pictures": (rewrite(TRAIN, announce(0, 28, 28)), "is empty"),
    "huge": (rewrite(TRAIN, announce(2**32 - 1, 28, 28)), "is truncated"),
    "label out of range": (
        rewrite(LABELS, labels_of(10)),
        "labels from 0 to 10, and there are 10",
    ),
    "other count": (
        rewrite(LABELS, lambda c: making.idx(np.arange(9))),
        "has 40 pictures, and the file with their labels 9",
    ),
    "other shape": (
        rewrite(TRAIN, lambda c: making.idx(np.zeros((40, 32, 32)))),
        "28 × 28 is wanted",
    ),
}


@pytest.mark.parametrize("fault", BAD_IDX)
def test_wrong_idx_files_are_refused(tmp_path: Path, fault: str) -> None:
    making.mnist(tmp_path)
    spoil, message = BAD_IDX[fault]
    spoil(tmp_path)
    assert message in refusal("mnist", folder=str(tmp_path))


BAD_GZIP = {
    "truncated": (lambda c: c[:-40], "truncated or damaged"),
    "no gzip": (lambda c: b"plain text", "truncated or damaged"),
    "damaged": (
        lambda c: c[:50] + bytes([c[50] ^ 255]) + c[51:],
        "truncated or damaged",
    ),
    "wrong sum": (lambda c: c[:-8] + b"\0\0\0\0" + c[-4:], "truncated or damaged"),
    "too long": (lambda c: gzip.compress(gzip.decompress(c) + b"more"), "is too long"),
    "too short": (lambda c: gzip.compress(gzip.decompress(c)[:-4]), "is truncated"),
}


@pytest.mark.parametrize("fault", BAD_GZIP)
def test_wrong_gzipped_files_are_refused(tmp_path: Path, fault: str) -> None:
    making.mnist(tmp_path, packed=True)
    change, message = BAD_GZIP[fault]
    rewrite(f"{TRAIN}.gz", change)(tmp_path)
    assert message in refusal("mnist", folder=str(tmp_path))


def test_a_decompression_bomb_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making.mnist(tmp_path, packed=True)
    bomb = making.idx(np.zeros((40, 28, 28))) + bytes(50_000_000)
    (tmp_path / f"{TRAIN}.gz").write_bytes(gzip.compress(bomb, 1))
    assert "is too long" in refusal("mnist", folder=str(tmp_path))
    monkeypatch.setattr(_idx, "MOST_BYTES", 1000)
    assert "announces 31360 bytes, and at most 1000 are unpacked" in refusal(
        "mnist", folder=str(tmp_path)
    )


def test_a_file_that_leads_elsewhere_is_not_read(tmp_path: Path) -> None:
    making.mnist(tmp_path / "data")
    path = tmp_path / "data" / TRAIN
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    assert "leads outside of the folder" in refusal(
        "mnist", folder=str(tmp_path / "data")
    )
    path.unlink()
    os.mkfifo(path)
    assert "is no regular file" in refusal("mnist", folder=str(tmp_path / "data"))


def test_cifar10_is_read_from_the_binary_version(tmp_path: Path) -> None:
    arrays = making.cifar10(tmp_path / "cifar-10-batches-bin")
    splits = d5.datasets.load("cifar10", folder=str(tmp_path), validation=0.1, seed=3)
    assert [len(split) for split in splits.values()] == [36, 4, 8]
    assert splits["train"].specs["x"].shape == d5.datasets.Cifar10.shape
    test = splits["test"].batch(np.array([7, 0]))
    records = arrays["test_batch.bin"][[7, 0]]
    assert np.array_equal(np.rint(test["x"] * 255).reshape(2, -1), records[:, 1:])
    assert test["label"].tolist() == records[:, 0].tolist()
    train = [splits[part].batch(slice(None)) for part in ("train", "validation")]
    pairs = set()
    for part in train:
        for pixels, label in zip(part["x"], part["label"], strict=True):
            pairs.add((np.rint(pixels * 255).astype(np.uint8).tobytes(), int(label)))
    wanted = [r for name, r in arrays.items() if name != "test_batch.bin"]
    assert pairs == {(r[1:].tobytes(), int(r[0])) for r in np.concatenate(wanted)}


def test_cifar100_has_the_fine_labels(tmp_path: Path) -> None:
    arrays = making.cifar100(tmp_path)
    test = d5.datasets.load("cifar100", folder=str(tmp_path))["test"].batch(slice(None))
    assert np.array_equal(test["label"], arrays["test.bin"][:, 1])
    assert np.array_equal(
        np.rint(test["x"] * 255).reshape(30, -1), arrays["test.bin"][:, 2:]
    )


@pytest.mark.parametrize(
    ("name", "folder", "file"),
    [
        ("cifar10", "cifar-10-batches-py", "data_batch_1"),
        ("cifar100", "cifar-100-python", "meta"),
    ],
)
def test_the_pickled_version_is_refused_with_the_reason(
    tmp_path: Path, name: str, folder: str, file: str
) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / file).write_bytes(b"\x80\x02}")
    said = refusal(name, folder=str(tmp_path))
    assert "unpickling a file can run any code" in said and "binary version" in said


def test_wrong_cifar_files_are_refused(tmp_path: Path) -> None:
    making.cifar10(tmp_path)
    path = tmp_path / "data_batch_3.bin"
    contents = path.read_bytes()
    path.write_bytes(contents[:-1])
    assert "data_batch_3.bin is truncated" in refusal("cifar10", folder=str(tmp_path))
    path.write_bytes(b"")
    assert "data_batch_3.bin is empty" in refusal("cifar10", folder=str(tmp_path))
    path.write_bytes(b"\x0b" + contents[1:])
    assert "11, and there are 10 classes" in refusal("cifar10", folder=str(tmp_path))
    path.unlink()
    said = refusal("cifar10", folder=str(tmp_path))
    assert "needs data_batch_3.bin" in said and "cifar-10-batches-bin" in said


def test_settings_that_make_no_splits_are_refused(tmp_path: Path) -> None:
    making.mnist(tmp_path)
    assert "validation is 1.5" in refusal("mnist", folder=str(tmp_path), validation=1.5)
    assert "seed is -1" in refusal("mnist", folder=str(tmp_path), seed=-1)
    assert "is not there or is no folder" in refusal(
        "mnist", folder=str(tmp_path / "nowhere")
    )


def test_a_file_that_is_too_long_for_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(Deep500Error, match="at most 4294967296 are read into memory"):
        _files.read_bytes(path)
