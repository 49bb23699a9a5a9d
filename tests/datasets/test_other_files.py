"""Pictures in folders, arrays, texts, tables and HDF5 files, and what is said about those that are wrong."""

import csv
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import PIL.Image
import pytest

import deep500 as d5
from deep500.datasets import _decoding
from deep500.errors import Deep500Error

from . import making
from .test_standard_files import refusal


def whole(split: d5.Split) -> dict[str, np.ndarray]:
    return split.batch(slice(None))


# -- pictures in folders


@pytest.mark.parametrize("decoder", ["simplejpeg", "pillow"])
def test_pictures_are_decoded_with_their_classes(tmp_path: Path, decoder: str) -> None:
    making.jpegs(tmp_path)
    dataset = d5.datasets.ImageFolder(
        str(tmp_path), validation=0.2, test=0.2, decoder=decoder
    )
    splits = dataset.load()
    assert dataset.class_names() == ["class_0", "class_1", "class_2"]
    assert [len(split) for split in splits.values()] == [10, 4, 4]
    seen = 0
    for split in splits.values():
        batch = whole(split)
        for pixels, label, path in zip(
            batch["x"], batch["label"], split.columns["x"].paths, strict=True
        ):
            wanted = making.picture(100 * int(label) + int(Path(path).stem)) / 255
            # JPEG loses a little
            assert np.abs(pixels.transpose(1, 2, 0) - wanted).mean() < 0.03
            seen += 1
    assert seen == 18


def test_both_decoders_give_the_same_pictures(tmp_path: Path) -> None:
    making.jpegs(tmp_path)
    fast, slow = (
        whole(
            d5.datasets.load("image_folder", folder=str(tmp_path), decoder=name)[
                "train"
            ]
        )["x"]
        for name in ("simplejpeg", "pillow")
    )
    assert np.abs(fast - slow).max() <= 1.01 / 255


def test_pictures_may_stay_bytes_until_they_are_normalised(tmp_path: Path) -> None:
    making.jpegs(tmp_path)
    numbers, pixels = (
        d5.datasets.load("image_folder", folder=str(tmp_path), dtype=dtype)["train"]
        for dtype in ("float32", "uint8")
    )
    assert pixels.specs["x"].dtype == np.uint8
    scaled = pixels.transformed(d5.augmentations.Normalise(mean=(0,), deviation=(255,)))
    assert np.allclose(whole(scaled)["x"], whole(numbers)["x"], rtol=1e-6)
    assert "float32 or uint8, not 'int8'" in refusal("image_folder", dtype="int8")


def test_without_the_fast_decoder_pillow_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making.jpegs(tmp_path)
    fast = whole(d5.datasets.load("image_folder", folder=str(tmp_path))["test"])
    monkeypatch.setitem(sys.modules, "simplejpeg", None)
    monkeypatch.setattr(_decoding, "find_spec", lambda name: None)
    slow = whole(d5.datasets.load("image_folder", folder=str(tmp_path))["test"])
    assert np.abs(fast["x"] - slow["x"]).max() <= 1.01 / 255
    said = refusal("image_folder", folder=str(tmp_path), decoder="simplejpeg")
    assert "pip install simplejpeg" in said


@pytest.mark.parametrize("given", [("test",), ("val",), ("validation", "test"), ()])
def test_folders_for_splits_are_used(tmp_path: Path, given: tuple[str, ...]) -> None:
    making.jpegs(tmp_path / "train", each=10)
    for number, name in enumerate(given, 1):
        making.jpegs(tmp_path / name, each=number)
    splits = d5.datasets.load("image_folder", folder=str(tmp_path))
    sizes = [len(split) for split in splits.values()]
    assert sizes == {0: [24, 3, 3], 1: [27, 3, 3], 2: [30, 3, 6]}[len(given)]


def test_pictures_of_other_sizes_and_formats_are_resized(tmp_path: Path) -> None:
    making.jpegs(tmp_path, classes=2, each=3)
    image = PIL.Image.fromarray(making.picture(7, 32, 48))
    image.save(tmp_path / "class_1" / "large.png")
    splits = d5.datasets.load("image_folder", folder=str(tmp_path), height=8, width=12)
    assert splits["train"].specs["x"].shape == (3, 8, 12)
    for split in splits.values():
        values = whole(split)["x"]
        assert 0 <= values.min() and values.max() <= 1 and values.std() > 0.1


def test_the_digest_of_pictures_follows_their_files(tmp_path: Path) -> None:
    making.jpegs(tmp_path)
    before = d5.datasets.load("image_folder", folder=str(tmp_path))["train"]
    digest = before.digest()
    assert (
        digest
        == d5.datasets.load("image_folder", folder=str(tmp_path))["train"].digest()
    )
    path = Path(before.columns["x"].paths[0])
    path.write_bytes(path.read_bytes() + b"\0")
    assert before.digest() != digest


def png_of(width: int, height: int) -> bytes:
    """A PNG that announces a size and holds nothing."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body))
            + kind
            + body
            + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IEND", b"")


BAD_PICTURES = {
    "truncated": (lambda c: c[: len(c) // 2], "cannot be decoded"),
    "cut short": (lambda c: c[:-30], "cannot be decoded"),
    "text": (lambda c: b"no picture", "cannot be decoded"),
    "empty": (lambda c: b"", "cannot be decoded"),
    "bomb": (lambda c: png_of(9000, 9000), "announces 9000 × 9000 pixels"),
    "larger bomb": (lambda c: png_of(2**20, 2**20), "is too large to decode"),
}


@pytest.mark.parametrize("decoder", ["simplejpeg", "pillow"])
@pytest.mark.parametrize("fault", BAD_PICTURES)
def test_wrong_pictures_are_refused_by_name(
    tmp_path: Path, fault: str, decoder: str
) -> None:
    making.jpegs(tmp_path)
    path = tmp_path / "class_1" / "3.jpg"
    change, message = BAD_PICTURES[fault]
    path.write_bytes(change(path.read_bytes()))
    said = refusal(
        "image_folder", folder=str(tmp_path), decoder=decoder, height=16, width=24
    )
    assert message in said and "class_1/3.jpg" in said


def test_wrong_folders_are_refused(tmp_path: Path) -> None:
    assert "needs one folder of pictures" in refusal(
        "image_folder", folder=str(tmp_path)
    )
    (tmp_path / "cat").mkdir()
    assert "holds no pictures in its 1 folders" in refusal(
        "image_folder", folder=str(tmp_path)
    )
    making.jpegs(tmp_path / "two" / "train")
    making.jpegs(tmp_path / "two" / "test", classes=4)
    said = refusal("image_folder", folder=str(tmp_path / "two"))
    assert "has the class 'class_3', which train has not" in said
    assert "give both, or neither" in refusal(
        "image_folder", folder=str(tmp_path), height=3
    )
    assert "no decoder is named 'turbo'" in refusal("image_folder", decoder="turbo")


def test_folders_and_pictures_that_lead_outside_are_refused(tmp_path: Path) -> None:
    making.jpegs(tmp_path / "data")
    making.jpegs(tmp_path / "outside")
    link = tmp_path / "data" / "class_0" / "link.jpg"
    link.symlink_to(tmp_path / "outside" / "class_0" / "0.jpg")
    assert "link.jpg leads outside" in refusal(
        "image_folder", folder=str(tmp_path / "data")
    )
    link.unlink()
    (tmp_path / "data" / "class_9").symlink_to(tmp_path / "outside" / "class_0")
    assert "class_9 leads outside" in refusal(
        "image_folder", folder=str(tmp_path / "data")
    )


# -- arrays in files of NumPy


def test_npy_files_are_memory_maps_and_npz_files_are_read(tmp_path: Path) -> None:
    arrays = {"x": np.random.default_rng(0).random((50, 3)), "label": np.arange(50) % 4}
    for name, values in arrays.items():
        np.save(tmp_path / f"{name}.npy", values)
    np.savez_compressed(tmp_path / "all.npz", x=arrays["x"], label=arrays["label"])
    mapped = d5.datasets.load("numpy_files", folder=str(tmp_path), seed=2)
    read = d5.datasets.load("numpy_files", folder=str(tmp_path), file="all.npz", seed=2)
    held = d5.NumpyDataset(arrays, seed=2).load()
    assert isinstance(mapped["train"].columns["x"], d5.Column)
    for name, split in held.items():
        assert mapped[name].digest() != ""
        for key, values in whole(split).items():
            assert np.array_equal(whole(mapped[name])[key], values)
            assert np.array_equal(whole(read[name])[key], values)


def test_arrays_larger_than_the_memory_are_read_by_index(tmp_path: Path) -> None:
    """A sparse file of 64 GB: only what is asked for is read."""
    shape = (4000, 4_000_000)
    path = tmp_path / "x.npy"
    header = np.lib.format.header_data_from_array_1_0(np.empty((0,), np.float32))
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header | {"shape": shape})
        start = file.tell()
        file.truncate(start + 4 * shape[0] * shape[1])
        file.seek(start + 4 * shape[1] * 3999)
        file.write(np.float32(7).tobytes())
    splits = d5.datasets.load("numpy_files", names=("x",), folder=str(tmp_path))
    sums = {}
    for name, split in splits.items():
        last = len(split) - 1
        sums[name] = float(split.batch(np.array([last]))["x"][0].sum())
    assert sorted(sums.values()) == [0, 0, 7]


def test_wrong_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((9, 2)))
    assert "needs label.npy" in refusal("numpy_files", folder=str(tmp_path))
    np.save(tmp_path / "label.npy", np.array([{}] * 9, object), allow_pickle=True)
    assert "label.npy is no complete .npy file" in refusal(
        "numpy_files", folder=str(tmp_path)
    )
    np.save(tmp_path / "label.npy", np.arange(8))
    assert "these differ: x (9, 2), label (8,)" in refusal(
        "numpy_files", folder=str(tmp_path)
    )
    path = tmp_path / "x.npy"
    path.write_bytes(path.read_bytes()[:-8])
    assert "x.npy is no complete .npy file" in refusal(
        "numpy_files", folder=str(tmp_path)
    )
    (tmp_path / "bad.npz").write_bytes(b"PK")
    said = refusal("numpy_files", folder=str(tmp_path), file="bad.npz")
    assert "bad.npz is no complete .npz file" in said
    np.savez(tmp_path / "odd.npz", y=np.ones(3))
    said = refusal("numpy_files", folder=str(tmp_path), file="odd.npz")
    assert "has no array 'x'; it has: y" in said
    np.savez(tmp_path / "objects.npz", x=np.array([{}], object), label=np.ones(1))
    said = refusal("numpy_files", folder=str(tmp_path), file="objects.npz")
    assert "is no complete .npz file of numbers" in said


def test_an_npz_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deep500.datasets import numpy_files

    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros(10**6))
    monkeypatch.setattr(numpy_files, "MOST_BYTES", 10**6)
    said = refusal("numpy_files", folder=str(tmp_path), file="bomb.npz")
    assert "and at most 1000000 are read" in said


# -- texts


def test_a_text_is_cut_into_sequences_with_what_follows(tmp_path: Path) -> None:
    text = (
        "".join(chr(ord("a") + number * number % 17) for number in range(1000)) + "é€"
    )
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    dataset = d5.datasets.TextFile("text.txt", str(tmp_path), length=20)
    splits = dataset.load()
    vocabulary = dataset.vocabulary()
    assert vocabulary == "".join(sorted(set(text)))
    pieces = {}
    for name, split in splits.items():
        batch = whole(split)
        assert np.array_equal(batch["tokens"][:, 1:], batch["next"][:, :-1])
        pieces[name] = "".join(vocabulary[token] for token in batch["tokens"].ravel())
        last = vocabulary[batch["next"][-1, -1]]
        assert pieces[name] + last in text
    assert text.startswith(pieces["train"]) and len(pieces["train"]) > 750
    task = d5.tasks.NextToken()
    task.check_arrays(splits)
    strided = d5.datasets.TextFile(
        "text.txt", str(tmp_path), length=20, stride=1
    ).load()["train"]
    assert len(strided) == 802 - 20
    first = whole(strided)["tokens"]
    assert np.array_equal(first[1:, :-1], first[:-1, 1:])


def test_a_text_may_be_named_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEP500_DATA", raising=False)
    path = tmp_path / "text.txt"
    path.write_text("abcde" * 50)
    by_path = d5.datasets.load("text_file", file=str(path), length=4)
    monkeypatch.chdir(tmp_path)
    by_name = d5.datasets.load("text_file", file="text.txt", length=4)
    assert by_path["train"].digest() == by_name["train"].digest()


def test_wrong_texts_are_refused(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert "name it with file=" in refusal("text_file", folder=folder)
    assert "needs no.txt, which is not in" in refusal(
        "text_file", folder=folder, file="no.txt"
    )
    (tmp_path / "empty.txt").write_text("")
    assert "is empty" in refusal("text_file", folder=folder, file="empty.txt")
    (tmp_path / "short.txt").write_text("abc" * 30)
    assert "is too short" in refusal("text_file", folder=folder, file="short.txt")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 " * 100)
    assert "is no UTF-8 text" in refusal("text_file", folder=folder, file="latin.txt")
    (tmp_path.parent / "secret.txt").write_text("secret" * 100)
    said = refusal("text_file", folder=folder, file="../secret.txt")
    assert "leads outside of the folder" in said
    assert "length is 0" in refusal(
        "text_file", folder=folder, file="short.txt", length=0
    )


# -- tables


def write_table(path: Path, rows: list[Any]) -> None:
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def test_a_table_is_split_and_standardised(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    values = random.random((60, 3)) * [1, 100, 0.01] + 5
    write_table(tmp_path / "t.csv", [["a", "b", "y"], *values.tolist()])
    plain = d5.datasets.CsvFile("t.csv", str(tmp_path), standardise=False).load()
    rows = np.concatenate(
        [np.hstack([*whole(split).values()]) for split in plain.values()]
    )
    assert np.allclose(np.sort(rows, axis=0), np.sort(values, axis=0), rtol=1e-6)
    scaled = d5.datasets.CsvFile("t.csv", str(tmp_path), target=("y",)).load()
    x = whole(scaled["train"])["x"]
    assert np.allclose(x.mean(axis=0), 0, atol=1e-4) and np.allclose(
        x.std(axis=0), 1, atol=1e-4
    )
    d5.tasks.Regression().check_arrays(scaled)


def test_a_table_may_have_classes(tmp_path: Path) -> None:
    rows = [[number, "cat" if number % 3 else "dog"] for number in range(30)]
    write_table(tmp_path / "t.csv", [["n", "animal"], *rows])
    dataset = d5.datasets.CsvFile(
        "t.csv", str(tmp_path), label="animal", standardise=False
    )
    assert dataset.class_names() == ["cat", "dog"]
    for split in dataset.load().values():
        batch = whole(split)
        assert np.array_equal(batch["label"], batch["x"][:, 0] % 3 == 0)


BAD_TABLES = {
    "": "is empty",
    "a,b\n": "is empty",
    "a,b\n1,2\n3\n": "row 3 has 1 entries",
    "a,b\n1,2\nx,4\n": "row 3 has 'x' in the column 'a'",
    "a,b\n1,2\n1,nan\n": "row 3 has 'nan' in the column 'b'",
    "a,b\n1,\n": "row 2 has '' in the column 'b'",
    "a,a\n1,2\n": "two columns of the same name",
    'a,b\n1,"2\n': "is no table",
    "y\n1\n2\n3\n4\n": "has no column left to learn from",
    "a,b\n1,2\n": "three splits need 3",
}


@pytest.mark.parametrize("text", BAD_TABLES)
def test_wrong_tables_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert BAD_TABLES[text] in refusal("csv_file", folder=str(tmp_path), file="t.csv")


def test_columns_that_are_missing_are_named(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", [["a", "b"], [1, 2], [3, 4], [5, 6]])
    said = refusal("csv_file", folder=str(tmp_path), file="t.csv", label="c")
    assert "has no column 'c'; it has: a, b" in said
    said = refusal(
        "csv_file", folder=str(tmp_path), file="t.csv", label="a", target=("b",)
    )
    assert "target and label are both given" in said


# -- HDF5


@pytest.mark.parametrize("options", [{}, {"chunks": (7, 3)}, {"compression": "gzip"}])
def test_hdf5_files_are_read_by_index(tmp_path: Path, options: dict) -> None:
    x = np.random.default_rng(0).random((60, 3)).astype(np.float32)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file.create_dataset("x", data=x, **options)
        file.create_dataset("label", data=np.arange(60) % 5)
    splits = d5.datasets.load("hdf5_file", file="data.h5", folder=str(tmp_path), seed=4)
    held = d5.NumpyDataset({"x": x, "label": np.arange(60) % 5}, seed=4).load()
    indices = np.array([40, 2, 2, 3, 4, 11, 0])
    for key, values in held["train"].batch(indices).items():
        assert np.array_equal(splits["train"].batch(indices)[key], values)
    for name, split in held.items():
        assert np.array_equal(whole(splits[name])["x"], whole(split)["x"])


def test_groups_of_hdf5_files_are_splits(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "data.h5", "w") as file:
        for number, name in enumerate(("train", "validation", "test"), 3):
            file[f"{name}/x"] = np.full((number, 2), number, np.float32)
    splits = d5.datasets.load(
        "hdf5_file", file="data.h5", names=("x",), folder=str(tmp_path)
    )
    assert {
        name: whole(split)["x"].tolist()[0][0] for name, split in splits.items()
    } == {
        "train": 3,
        "validation": 4,
        "test": 5,
    }


def test_wrong_hdf5_files_are_refused(tmp_path: Path) -> None:
    folder = str(tmp_path)

    def said(**arrays: object) -> str:
        # the one before may still be open
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.h5"
        with h5py.File(path, "w") as file:
            for name, value in arrays.items():
                file[name] = value
        return refusal("hdf5_file", file=path.name, folder=folder)

    ones = np.ones((4, 2))
    assert "has no array 'label'; there is: x" in said(x=ones)
    assert "these are: x (4, 2), label (3,)" in said(x=ones, label=np.ones(3))
    assert "not examples of numbers" in said(x=ones, label=["a", "b", "c", "d"])
    assert "link to elsewhere" in said(
        x=h5py.ExternalLink("other.h5", "/x"), label=np.ones(4)
    )
    assert "link to elsewhere" in said(x=h5py.SoftLink("/label"), label=np.ones(4))
    path = tmp_path / "data.h5"
    path.write_bytes((tmp_path / "0.h5").read_bytes()[:300])
    assert "is no complete HDF5 file" in refusal(
        "hdf5_file", file="data.h5", folder=folder
    )
    path.write_bytes(b"text")
    assert "is no complete HDF5 file" in refusal(
        "hdf5_file", file="data.h5", folder=folder
    )


def test_hdf5_arrays_that_lie_elsewhere_or_unpack_to_much_are_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data.h5"
    (tmp_path / "raw").write_bytes(bytes(100))
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (4,), "f4", external=[(str(tmp_path / "raw"), 0, 16)])
    said = refusal("hdf5_file", file="data.h5", names=("x",), folder=str(tmp_path))
    assert "lies in other files" in said
    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource("other.h5", "x", (4,))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("x", layout)
    said = refusal("hdf5_file", file="data.h5", names=("x",), folder=str(tmp_path))
    assert "lies in other files" in said
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "x", (4, 2**30), "f4", chunks=(1, 2**28), compression="gzip"
        )
    said = refusal("hdf5_file", file="data.h5", names=("x",), folder=str(tmp_path))
    assert "has chunks of 1073741824 bytes" in said


def test_the_errors_are_those_of_this_project(tmp_path: Path) -> None:
    with pytest.raises(
        Deep500Error, match="no dataset is named 'mnits'. Did you mean 'Mnist'"
    ):
        d5.datasets.load("mnits", folder=str(tmp_path))
