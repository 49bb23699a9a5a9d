"""Data on which nothing can be learnt are refused in one line, before the first step if they are in memory."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import deep500.contracts.dataset as dataset_contract
from deep500.contracts.dataset import Column, Dataset, Split
from deep500.contracts.dataset_splits import loaded_splits
from deep500.errors import Deep500Error
from deep500.samplers.ordered_sampler import OrderedSampler
from deep500.samplers.shuffle_sampler import ShuffleSampler
from deep500.tasks import Classification
from deep500.training.trainer import Trainer

from .softmax_regression import SoftmaxRegression

Make = Callable[..., Trainer]
Splits = dict[str, Split]


class Streamed(Column):
    """An array that is read by index, and counts how often each row is read."""

    def __init__(self, values: np.ndarray):
        self.values = values
        self.shape = values.shape
        self.dtype = values.dtype
        self.reads = np.zeros(len(values), int)

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        self.reads[indices] += 1
        out[...] = self.values[indices]

    def digest(self) -> str:
        return "none"


def spoilt(splits: Splits, split: str, row: int, value: float) -> Splits:
    """The splits with one number replaced."""
    arrays = {name: array.copy() for name, array in splits[split].arrays.items()}
    arrays["x"][row].flat[1] = value
    return {**splits, split: Split(arrays)}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_number_that_is_not_finite(
    trainer: Make, splits: Splits, split: str, value: float
) -> None:
    says = f"the split '{split}' holds 1 number that is not finite .* in 'x', the first in row 7"
    with pytest.raises(Deep500Error, match=says):
        trainer(splits=spoilt(splits, split, 7, value))


def test_all_numbers_that_are_not_finite_are_counted(
    trainer: Make, splits: Splits
) -> None:
    wrong = spoilt(spoilt(splits, "train", 9, np.nan), "train", 4, np.inf)
    with pytest.raises(Deep500Error, match="holds 2 numbers .* the first in row 4"):
        trainer(splits=wrong)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_labels_shorter_than_data(trainer: Make, splits: Splits, split: str) -> None:
    arrays = splits[split].arrays
    size = len(arrays["x"])
    short = Split({"x": arrays["x"], "label": arrays["label"][:-3]})
    says = f"the split '{split}' has {size} of 'x', {size - 3} of 'label': every array"
    with pytest.raises(Deep500Error, match=says):
        trainer(splits={**splits, split: short})


def test_a_batch_larger_than_the_data(trainer: Make, splits: Splits) -> None:
    says = "batch_size is 151, and there are 150 examples to train on: give at most 150"
    with pytest.raises(Deep500Error, match=says):
        trainer(sampler=ShuffleSampler(151))
    history = trainer(sampler=ShuffleSampler(150)).run()
    assert history.steps == 4  # one batch of all


@pytest.mark.parametrize("split", ["train", "test"])
def test_empty_and_absent_splits(trainer: Make, splits: Splits, split: str) -> None:
    nothing = Split({name: a[:0] for name, a in splits[split].arrays.items()})
    rest = {name: part for name, part in splits.items() if name != split}
    for wrong in ({**splits, split: nothing}, rest):
        says = f"no split '{split}' with examples"
        with pytest.raises(Deep500Error, match=says):
            trainer(splits=wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda splits: [*splits.values()], "the data are a list: give splits by name"),
        (lambda splits: {**splits, "test": 3}, "the data are a int as 'test': give a"),
        (lambda splits: {**splits, "test": Split({})}, "with no arrays by name"),
        (
            lambda splits: {**splits, "test": Split({"x": cast(Any, [1])})},
            "a list as 'x'",
        ),
        (lambda splits: {**splits, "test": Split({"x": np.ones(())})}, "single number"),
    ],
)
def test_what_is_no_data(
    trainer: Make, splits: Splits, wrong: Callable, says: str
) -> None:
    with pytest.raises(Deep500Error, match=says):
        trainer(splits=wrong(splits))


# A data set that declares its classes, and one that does not


def two_classes(labels: list[int]) -> Splits:
    arrays = {"x": np.ones((len(labels), 2)), "label": np.array(labels)}
    return {name: Split(arrays) for name in ("train", "validation", "test")}


class Declared(Dataset):
    labels: tuple[int, ...] = (0, 1)
    classes = 2

    def load(self) -> Splits:
        return two_classes(list(self.labels))


def test_a_label_beyond_the_declared_classes() -> None:
    task = Classification()
    task.check_arrays(loaded_splits(Declared()))
    says = "'label' of the split 'train' goes from 0 to 7, and the data set has 2 classes: 0 to 1 .row 2 has 7"
    with pytest.raises(Deep500Error, match=says):
        task.check_arrays(loaded_splits(Declared((0, 1, 7))))


def test_a_network_has_the_declared_classes_though_one_does_not_occur() -> None:
    train = loaded_splits(Declared((0, 0)))["train"]
    assert Classification().sizes(train) == ((2,), 2)


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2, 4], [3, 1]])
def test_undeclared_classes_are_counted(labels: list[int]) -> None:
    train = two_classes(labels)["train"]
    assert Classification().sizes(train) == ((2,), max(labels) + 1)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (
            [0, 1, 51],
            "goes up to 51, and only 3 different labels occur: .*classes = 52",
        ),
        ([0, 1, 7], "goes up to 7, and only 3"),
        ([0, -1], "has the label -1: classes are counted from 0"),
    ],
)
def test_a_label_far_out_of_range(labels: list[int], says: str) -> None:
    with pytest.raises(Deep500Error, match=says):
        Classification().sizes(two_classes(labels)["train"])
    declared = replace(two_classes(labels)["train"], classes=52)
    assert Classification().sizes(declared) == ((2,), 52)


# Data that are not in memory


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of one example, so that a few pictures are data that are larger than a chunk."""
    monkeypatch.setattr(dataset_contract, "CHUNK_BYTES", 1)


def streamed(splits: Splits, split: str) -> tuple[Splits, Streamed]:
    arrays = splits[split].arrays
    column = Streamed(arrays["x"])
    return {**splits, split: Split({**arrays, "x": column})}, column


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_number_found_while_data_are_streamed(
    trainer: Make, splits: Splits, split: str, small_chunks: None
) -> None:
    wrong, _ = streamed(spoilt(splits, split, 20, np.nan), split)
    run = trainer(splits=wrong, sampler=OrderedSampler(16))
    says = f"the split '{split}' holds 1 number .* in 'x', the first in row 20"
    with pytest.raises(Deep500Error, match=says):
        run.run()


def test_the_first_chunk_is_read_before_the_first_step(
    trainer: Make, splits: Splits, small_chunks: None
) -> None:
    wrong, column = streamed(spoilt(splits, "train", 0, np.nan), "train")
    with pytest.raises(Deep500Error, match="'train' holds .* row 0"):
        trainer(splits=wrong)
    assert column.reads.sum() == 1


def test_checks_do_not_read_streamed_data_twice(
    trainer: Make, splits: Splits, small_chunks: None
) -> None:
    honest, column = streamed(splits, "train")
    trainer(splits=honest, sampler=OrderedSampler(16), epochs=2).run()
    # 2 epochs; the first rows were read to check them (1) and to compile the step (2 sizes)
    assert column.reads[-1] == 2
    assert column.reads.max() <= 5


def test_a_loss_that_diverges_on_good_streamed_data_is_no_fault_of_theirs(
    trainer: Make, splits: Splits, small_chunks: None
) -> None:
    honest, _ = streamed(splits, "train")
    executor = SoftmaxRegression()
    executor.load({n: np.full_like(a, np.nan) for n, a in executor.arrays().items()})
    history = trainer(splits=honest, executor=executor).run()
    assert "not a finite number" in history.ended


def test_a_memory_map_is_streamed(
    trainer: Make, splits: Splits, small_chunks: None, tmp_path: Path
) -> None:
    arrays = spoilt(splits, "test", 5, np.inf)["test"].arrays
    np.save(tmp_path / "x.npy", arrays["x"])
    pages = np.load(tmp_path / "x.npy", mmap_mode="r")
    wrong = {**splits, "test": Split({**arrays, "x": pages})}
    with pytest.raises(Deep500Error, match="'test' holds 1 number .* in row 5"):
        trainer(splits=wrong).run()


# A data set without a split for validation


class TwoParts(Dataset):
    rows: int = 100

    def load(self) -> Splits:
        x = np.arange(2.0 * self.rows, dtype=np.float32).reshape(self.rows, 2)
        arrays: dict[str, Any] = {"x": x, "label": np.arange(self.rows) % 2}
        return {"train": Split(arrays), "test": Split(arrays)}


def rows_of(split: Split) -> list[int]:
    return split.batch(slice(0, len(split)))["x"][:, 0].astype(int).tolist()


@pytest.mark.filterwarnings("ignore:the data have no split")
def test_a_tenth_is_set_aside_for_validation() -> None:
    splits, again = loaded_splits(TwoParts()), loaded_splits(TwoParts())
    train, validation = rows_of(splits["train"]), rows_of(splits["validation"])
    assert len(train) == 90 and len(validation) == 10
    assert sorted(train + validation) == [*range(0, 200, 2)]
    assert rows_of(again["validation"]) == validation


@pytest.mark.filterwarnings("ignore:the data have no split")
def test_a_tenth_of_streamed_data_is_the_same_rows() -> None:
    class Folder(TwoParts):
        def load(self) -> Splits:
            splits = super().load()
            x = Streamed(splits["train"].arrays["x"])
            columns: dict[str, Any] = {**splits["train"].columns, "x": x}
            return {**splits, "train": Split(columns)}

    splits, in_memory = loaded_splits(Folder()), loaded_splits(TwoParts())
    for name in ("train", "validation"):
        assert rows_of(splits[name]) == rows_of(in_memory[name])
    assert splits["train"].digest() != splits["validation"].digest()


def test_setting_examples_aside_is_said() -> None:
    with pytest.warns(UserWarning, match="no split 'validation': 10 of the 100"):
        loaded_splits(TwoParts())
