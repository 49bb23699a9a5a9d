"""Promises of splits: read by index, described without being read, augmented by example and epoch."""

from pathlib import Path

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.augmentation import Augmentation, Batch, Draws, Spec
from deep500.contracts.dataset import Column, Split
from deep500.errors import Deep500Error
from deep500.training.matching import matched_splits


class Squares(Column):
    """The square of every index; counts what is read."""

    def __init__(self, size: int):
        self.shape, self.dtype = (size, 2), np.dtype(np.int64)
        self.entries_read = 0

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        self.entries_read += len(indices)
        out[:] = indices[:, None] ** 2

    def digest(self) -> str:
        return f"squares {self.shape}"


class Noise(Augmentation):
    """Adds a random number to every example."""

    def apply(self, batch: Batch, draws: Draws) -> Batch:
        return batch | {"x": batch["x"] + draws.uniform(1)}


def test_specs_tell_the_shape_and_dtype_without_reading() -> None:
    column = Squares(10**12)
    split = Split({"x": column, "label": np.zeros(10, np.int64)})
    int64 = np.dtype(np.int64)
    assert split.specs == {"x": Spec((2,), int64), "label": Spec((), int64)}
    assert column.entries_read == 0


def test_a_column_is_read_by_index_and_by_slice() -> None:
    column = Squares(10**12)
    split = Split({"x": column})
    assert split.batch(np.array([3, 10**9]))["x"].tolist() == [[9, 9], [10**18, 10**18]]
    assert split.batch(slice(2, 4))["x"].tolist() == [[4, 4], [9, 9]]
    assert column.entries_read == 4
    with pytest.raises(
        Deep500Error, match="goes from 4 to 5, and the data have 5 examples"
    ):
        Split({"x": Squares(5)}).batch(np.array([4, 5]))


def test_a_column_has_bounds_and_no_arrays() -> None:
    split = Split({"x": Squares(1000), "label": np.array([3, 1])})
    assert split.bounds("x") == (0, 999**2) and split.bounds("label") == (1, 3)
    with pytest.raises(
        Deep500Error, match="'x' is not in memory: read it with split.batch"
    ):
        _ = split.arrays


def test_a_memory_map_is_a_column(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((7, 3))
    np.save(tmp_path / "x.npy", values)
    mapped, held = (
        Split({"x": np.load(tmp_path / "x.npy", mmap_mode="r")}),
        Split({"x": values}),
    )
    assert mapped.digest() == held.digest()
    assert np.array_equal(mapped.batch(np.array([6, 0]))["x"], values[[6, 0]])


def test_a_digest_differs_with_every_part() -> None:
    x = np.arange(6.0).reshape(3, 2)
    splits = [
        Split({"x": x}),
        Split({"y": x}),
        Split({"x": x.reshape(2, 3)}),
        Split({"x": x.astype(np.float32)}),
        Split({"x": x + 1e-15}),
        Split({"x": Squares(3)}),
        Split({"x": Squares(4)}),
        Split({"x": x}).transformed(Noise()),
        Split({"x": x}).transformed(Noise(), seed=1),
    ]
    assert len({split.digest() for split in splits}) == len(splits)
    assert Split({"x": x}).digest() == Split({"x": np.asfortranarray(x)}).digest()


def test_augmentations_depend_on_example_and_epoch_alone() -> None:
    split = Split({"x": np.zeros((50, 1))}).transformed(Noise(), seed=3)
    everything = split.batch(slice(None), epoch=2)["x"]
    some = split.batch(np.array([30, 4]), epoch=2)["x"]
    assert np.array_equal(everything[[30, 4]], some)
    assert len(np.unique(everything)) == 50
    assert not np.intersect1d(everything, split.batch(slice(None), epoch=3)["x"]).size
    twice = split.transformed(Noise(), seed=3).batch(slice(None), epoch=2)["x"]
    assert not np.allclose(twice, 2 * everything)


def test_draws_are_uniform_and_uncorrelated() -> None:
    indices = np.arange(20_000)
    numbers = Draws(0, 0, 0, indices).uniform(3)
    assert numbers.min() >= 0 and numbers.max() < 1
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    # 99.99 % of chi-square, 19 degrees of freedom
    assert ((counts - 3000) ** 2 / 3000).sum() < 50.8
    neighbours = [numbers[:, 1], np.roll(numbers[:, 0], 1)]
    others = [
        Draws(*key, indices).uniform(1)[:, 0]
        for key in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    ]
    for other in neighbours + others:
        # five standard errors
        assert abs(np.corrcoef(numbers[:, 0], other)[0, 1]) < 0.035


def test_draws_are_the_same_everywhere() -> None:
    """Frozen: a change here changes every augmented run there ever was."""
    assert Draws(1, 2, 3, np.array([4])).integers(1000, 3).tolist() == [[228, 577, 179]]


ARRAYS: dict[str, np.ndarray] = {
    "input": np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32),
    "label": np.arange(50) % 2,
}


def test_a_numpy_data_set_loses_nothing_and_repeats_nothing() -> None:
    arrays = {"x": np.arange(101), "label": np.arange(101)}
    splits = d5.NumpyDataset(arrays, validation=0.2, test=0.1, seed=5).load()
    rows = [split.arrays["x"] for split in splits.values()]
    assert list(splits) == ["train", "validation", "test"]
    assert [len(part) for part in rows] == [71, 20, 10]
    assert sorted(np.concatenate(rows)) == list(range(101))
    other = d5.NumpyDataset(arrays, validation=0.2, test=0.1, seed=6).load()
    assert splits["test"].arrays["x"].tolist() != other["test"].arrays["x"].tolist()
    assert (
        d5.NumpyDataset(arrays)
        == d5.NumpyDataset(arrays)
        != d5.NumpyDataset(arrays, seed=1)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({},), "takes arrays by name"),
        (({"x": np.ones(3), "y": np.ones(4)},), "these differ: x \\(3,\\), y \\(4,\\)"),
        (({"x": np.float32(1)},), "these differ: x \\(\\)"),
        (({"x": np.ones(2)},), "there are 2 examples"),
        (({"x": np.ones(9)}, 0.6, 0.4), "something must be left to train on"),
        (({"x": np.ones(9)}, 0, 0.4), "validation is 0"),
        (({"x": np.ones(9)}, 0.1, 0.1, -1), "seed is -1"),
    ],
)
def test_bad_arrays_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(Deep500Error, match=message) as caught:
        d5.NumpyDataset(*arguments)
    assert "\n" not in str(caught.value)


def trainer(data: d5.Dataset, input_name: str = "x") -> d5.Trainer:
    network = d5.networks.Mlp((8,)).for_task(
        d5.tasks.Classification(input=input_name),
        Split({input_name: ARRAYS["input"], "label": ARRAYS["label"]}),
    )
    executor = d5.framework("reference").from_model(network)
    return d5.Trainer(
        executor,
        d5.optimizers.SGD(0.1),
        splits=data,
        sampler=d5.ShuffleSampler(8),
        epochs=1,
    )


def test_a_trainer_takes_a_data_set_whose_names_differ_and_says_so() -> None:
    with pytest.warns(UserWarning, match="their order decides: 'input' as 'x'"):
        renamed = trainer(d5.NumpyDataset(ARRAYS)).run()
    same_names = {"x": ARRAYS["input"], "label": ARRAYS["label"]}
    plain = trainer(d5.NumpyDataset(same_names)).run()
    assert renamed.series["loss"] == plain.series["loss"]


def test_a_network_whose_input_has_another_name_is_matched_by_order() -> None:
    same_names = {"pictures": ARRAYS["input"], "label": ARRAYS["label"]}
    plain = trainer(d5.NumpyDataset(same_names), "pictures").run()
    with pytest.warns(UserWarning, match="'input' as 'pictures'"):
        renamed = trainer(d5.NumpyDataset(ARRAYS), "pictures").run()
    assert renamed.series["loss"] == plain.series["loss"]


def test_names_are_not_matched_where_the_kinds_differ() -> None:
    data = {"label": ARRAYS["label"], "words": np.array(["a", "b"] * 25)}
    with pytest.raises(
        Deep500Error, match="needs 'x', and the split 'train' has: label, words"
    ):
        trainer(d5.NumpyDataset(data))


def test_renaming_reaches_augmentations() -> None:
    pictures = np.random.default_rng(0).random((6, 1, 2, 3)).astype(np.float32)
    split = Split({"input": pictures, "label": np.arange(6)})
    flipped = split.transformed(d5.augmentations.RandomFlip("input", 1.0))
    task = d5.tasks.Classification()
    with pytest.warns(UserWarning):
        renamed = matched_splits({"train": flipped}, task)["train"]
    assert np.array_equal(renamed.batch(slice(0, 2))["x"], pictures[:2, :, :, ::-1])


def test_data_sets_are_loaded_by_name() -> None:
    splits = d5.datasets.load("synthetic-images", size=50)
    assert {name: len(split) for name, split in splits.items()} == {
        "train": 30,
        "validation": 10,
        "test": 10,
    }
    with pytest.raises(
        Deep500Error, match="no dataset is named 'digit'. Did you mean 'Digits'"
    ):
        d5.datasets.load("digit")
    with pytest.raises(
        Deep500Error, match="cannot be made: .*unexpected keyword argument 'colour'"
    ):
        d5.datasets.load("digits", colour=1)


def test_the_folder_with_data_is_said_or_taken_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deep500.home import data_folder

    monkeypatch.delenv("DEEP500_DATA", raising=False)
    with pytest.raises(
        Deep500Error, match="no folder with data is named: give the data set folder="
    ):
        data_folder()
    monkeypatch.setenv("DEEP500_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder(tmp_path.parent) == tmp_path.parent
    with pytest.raises(Deep500Error, match="is not there or is no folder"):
        data_folder(tmp_path / "absent")
