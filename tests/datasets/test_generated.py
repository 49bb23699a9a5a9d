"""Data that are made from a seed, against what is known of them in closed form."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.errors import Deep500Error

GENERATED: list[Any] = [
    d5.datasets.SyntheticClassification(),
    d5.datasets.SyntheticRegression(),
    d5.datasets.HeatEquation(size=50),
]


@pytest.mark.parametrize("dataset", GENERATED, ids=repr)
def test_the_seed_decides_everything(dataset: Any) -> None:
    digests = [split.digest() for split in dataset.load().values()]
    assert digests == [split.digest() for split in dataset.load().values()]
    other = [split.digest() for split in replace(dataset, seed=1).load().values()]
    assert len({*digests, *other}) == 6
    sizes = [len(split) for split in dataset.load().values()]
    assert [size / sum(sizes) for size in sizes] == [0.6, 0.2, 0.2]
    with pytest.raises(Deep500Error, match="seed is -1"):
        replace(dataset, seed=-1).load()
    with pytest.raises(Deep500Error, match="size is 4"):
        replace(dataset, size=4).load()


def test_regression_follows_its_rule() -> None:
    dataset = d5.datasets.SyntheticRegression(
        size=5000, features=6, targets=2, noise=0.3
    )
    splits = dataset.load()
    train, test = (splits[name].arrays for name in ("train", "test"))
    rule, *_ = np.linalg.lstsq(train["x"], train["target"], rcond=None)
    errors = test["x"] @ rule - test["target"]
    assert np.mean(errors**2) == pytest.approx(0.3**2 / 3, rel=0.1)
    assert train["x"].min() >= -1 and train["x"].max() < 1
    d5.tasks.Regression().check_arrays(splits)


def test_classes_are_equally_frequent_and_can_be_told_apart() -> None:
    dataset = d5.datasets.SyntheticClassification(size=2000, classes=5, spread=0.2)
    splits = dataset.load()
    train, test = (splits[name].arrays for name in ("train", "test"))
    assert np.bincount(train["label"]).tolist() == [240] * 5
    centres = np.stack(
        [train["x"][train["label"] == label].mean(axis=0) for label in range(5)]
    )
    distances = ((test["x"][:, None] - centres) ** 2).sum(axis=2)
    assert np.mean(distances.argmin(axis=1) == test["label"]) > 0.95
    d5.tasks.Classification().check_arrays(splits)


def heat_error(**settings: Any) -> float:
    """The largest difference from the closed form: sine waves that fade with exp(-ν k² π² t)."""
    dataset = d5.datasets.HeatEquation(size=20, **settings)
    k = np.arange(1, dataset.modes + 1)
    fading = np.exp(-dataset.diffusivity * (k * np.pi) ** 2 * dataset.time)
    exact = (dataset.amplitudes() * fading) @ dataset.waves()
    return float(
        np.abs(dataset.solve(dataset.amplitudes() @ dataset.waves()) - exact).max()
    )


def test_heat_spreads_as_the_closed_form_says() -> None:
    assert heat_error() < 1e-3
    coarse, fine = heat_error(points=31, steps=50), heat_error(points=63, steps=100)
    # second order: half the distances, a quarter of the error
    assert 3.6 < coarse / fine < 4.4
    splits = d5.datasets.load("heat_equation", size=20)
    d5.tasks.Regression().check_arrays(splits)
    assert (
        np.abs(splits["test"].arrays["target"]).max()
        < np.abs(splits["test"].arrays["x"]).max()
    )


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("heat_equation", {"modes": 9, "points": 8}, "as many modes as points at most"),
        ("heat_equation", {"time": 0}, "both are above 0"),
        ("synthetic_regression", {"features": 0}, "1 of each at least"),
        ("synthetic_classification", {"classes": 1}, "there are 2 classes"),
    ],
)
def test_bad_settings_are_refused(name: str, settings: dict, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        d5.datasets.load(name, **settings)
