"""Promises of every data set, and of each one's own."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from deep500 import registry
from deep500.contracts.dataset import Dataset, Split
from deep500.datasets.digits import Digits
from deep500.datasets.synthetic_images import SyntheticImages
from deep500.errors import Deep500Error

DIGITS = {
    "train": [4, 5, 6, 9, 0, 2, 3, 4],
    "validation": [0, 1, 2, 3, 8, 6, 3, 5],
    "test": [7, 1, 1, 6, 7, 8, 5, 6],
}  # the first labels of each split
WITHOUT_FILES = [Digits(), SyntheticImages()]


def faults(dataset: Dataset, splits: dict[str, Split]) -> list[str]:
    """What the splits of a data set do that they should not."""
    found = (
        []
        if list(splits) == ["train", "validation", "test"]
        else [f"splits {list(splits)}"]
    )
    for name, split in splits.items():
        if {len(values) for values in split.arrays.values()} != {len(split)} or not len(
            split
        ):
            found.append(f"{name} lengths")
        if "label" in split.arrays:
            found += classification_faults(dataset, name, split)
    inputs = [next(iter(split.arrays.values())) for split in splits.values()]
    rows = [{row.tobytes() for row in array} for array in inputs]
    if any(a & b for i, a in enumerate(rows) for b in rows[:i]):
        found.append("splits overlap")
    return found


def classification_faults(dataset: Dataset, name: str, split: Split) -> list[str]:
    found = []
    x, label = split.arrays["x"], split.arrays["label"]
    if x.dtype != np.float32 or label.dtype != np.int64:
        found.append(f"{name} dtypes")
    if x.shape != (len(split), *dataset.shape) or label.shape != (len(split),):
        found.append(f"{name} shapes")
    if x.min() < 0 or x.max() > 1:
        found.append(f"{name} values")
    if set(np.unique(label)) != set(range(dataset.classes)):
        found.append(f"{name} classes")
    return found


@pytest.mark.parametrize("dataset", WITHOUT_FILES, ids=repr)
def test_every_data_set_keeps_its_promises(dataset: Dataset) -> None:
    splits, again = dataset.load(), dataset.load()
    assert faults(dataset, splits) == []
    for name, split in splits.items():
        for key, values in split.arrays.items():
            assert np.array_equal(values, again[name].arrays[key])


@pytest.mark.parametrize("dataset", WITHOUT_FILES, ids=repr)
def test_three_fifths_are_for_training(dataset: Dataset) -> None:
    sizes = [len(split) for split in dataset.load().values()]
    assert [size / sum(sizes) for size in sizes] == pytest.approx(
        [0.6, 0.2, 0.2], abs=0.01
    )


def test_planted_faults_are_found() -> None:
    dataset = SyntheticImages()
    good = dataset.load()
    train = good["train"].arrays
    mixed = {
        k: np.concatenate([good["test"].arrays[k], v[:1]]) for k, v in train.items()
    }
    assert faults(dataset, good | {"test": Split(mixed)}) == ["splits overlap"]
    assert faults(
        dataset, good | {"train": Split(train | {"label": train["label"] % 9})}
    ) == ["train classes"]
    assert "train lengths" in faults(
        dataset, good | {"train": Split(train | {"odd": np.ones(3)})}
    )
    assert faults(dataset, good | {"train": Split(train | {"x": train["x"] * 2})}) == [
        "train values"
    ]
    assert faults(
        dataset, good | {"train": Split(train | {"x": train["x"].astype(np.float64)})}
    ) == ["train dtypes"]


def test_digits_are_split_within_every_class_and_lose_none() -> None:
    splits = Digits().load()
    counts = {
        name: np.bincount(split.arrays["label"]) for name, split in splits.items()
    }
    assert sum(map(len, splits.values())) == 1797
    total = sum(counts.values())
    for name, share in (("train", 0.6), ("validation", 0.2), ("test", 0.2)):
        assert abs(counts[name] - share * total).max() <= 1


def test_digits_are_the_same_everywhere() -> None:
    """Frozen figures: they may change only by intention, for every result with this data set depends on them."""
    splits = Digits().load()
    assert {name: len(split) for name, split in splits.items()} == {
        "train": 1079,
        "validation": 359,
        "test": 359,
    }
    assert {
        name: split.arrays["label"][:8].tolist() for name, split in splits.items()
    } == DIGITS


def test_digits_are_those_of_scikit_learn() -> None:
    images, labels = pytest.importorskip("sklearn.datasets").load_digits(
        return_X_y=True
    )
    ours = []
    for split in Digits().load().values():
        rows = split.arrays["x"].reshape(len(split), -1) * 16
        ours += [
            (*row, label)
            for row, label in zip(rows, split.arrays["label"], strict=True)
        ]
    theirs = [(*row, label) for row, label in zip(images, labels, strict=True)]
    assert sorted(ours) == sorted(theirs)


def test_digits_without_scikit_learn_say_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(Deep500Error, match="pip install scikit-learn") as caught:
        Digits().load()
    assert "\n" not in str(caught.value)


def test_a_data_set_that_is_missing_is_named_with_its_nearest() -> None:
    with pytest.raises(
        Deep500Error, match="no dataset is named 'Digit'. Did you mean 'Digits'\\?"
    ):
        registry.find("datasets", "Digit")


def test_synthetic_images_have_no_ties_and_follow_their_settings() -> None:
    splits = SyntheticImages(50, seed=3).load()
    x = np.concatenate([split.arrays["x"] for split in splits.values()]).reshape(50, -1)
    assert np.diff(np.sort(x, axis=1), axis=1).min() == 1 / 64
    assert not np.array_equal(
        x, np.concatenate([s.arrays["x"] for s in SyntheticImages(50).load().values()])
    )


def test_synthetic_images_can_be_learnt() -> None:
    splits = SyntheticImages(4000).load()
    x, label = (
        splits["train"].arrays["x"].reshape(-1, 64),
        splits["train"].arrays["label"],
    )
    weights = np.linalg.lstsq(x - 0.5, np.eye(10)[label], rcond=None)[0]
    test = splits["test"].arrays
    answers = np.argmax((test["x"].reshape(-1, 64) - 0.5) @ weights, axis=1)
    assert np.mean(answers == test["label"]) > 0.7  # by chance: 0.1


@pytest.mark.parametrize("change", [{"size": 4}, {"seed": -1}, {"seed": 2**63}])
def test_synthetic_images_refuse_bad_settings(change: dict[str, int]) -> None:
    with pytest.raises(Deep500Error, match="SyntheticImages needs"):
        replace(SyntheticImages(), **change)
