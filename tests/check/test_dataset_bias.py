"""How unequal classes are: against closed forms, and found where it is planted."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import deep500 as d5
from deep500 import cli
from deep500.check.samplers.dataset_bias import bias_svg, dataset_bias
from deep500.errors import Deep500Error


def splits_of(**labels: Any) -> dict[str, d5.Split]:
    return {
        name: d5.Split({"label": np.asarray(values)}) for name, values in labels.items()
    }


def test_the_deviation_is_the_share_that_would_have_to_change() -> None:
    report = dataset_bias(
        splits_of(train=[0] * 60 + [1] * 20 + [2] * 20, test=[0, 1, 2] * 10)
    )
    train, test = report.splits
    assert train.counts == [60, 20, 20] and train.n == 100
    assert train.deviation == pytest.approx(60 / 100 - 1 / 3)
    assert train.low < train.deviation < train.high
    assert test.deviation == 0 and test.p_equal == 1
    assert train.deviation > train.by_chance and train.p_equal < 1e-6
    # two classes: the distance is |p - 1/2|, whose interval is that of a binomial share
    [coin] = dataset_bias(splits_of(train=[0] * 700 + [1] * 300)).splits
    half_width = 1.96 * np.sqrt(0.7 * 0.3 / 1000)
    assert (coin.low, coin.high) == pytest.approx(
        (0.2 - half_width, 0.2 + half_width), abs=0.006
    )


def test_the_interval_holds_the_true_deviation() -> None:
    """200 samples of known shares: at least 95 % of the intervals hold it, and all hold their own estimate."""
    shares = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    truth = np.abs(shares - 0.2).sum() / 2
    random = np.random.default_rng(2)
    held = 0
    for _ in range(200):
        [split] = dataset_bias(splits_of(train=random.choice(5, 300, p=shares))).splits
        held += split.low <= truth <= split.high
        assert split.low <= split.deviation <= split.high
    assert held >= 186  # of 200 at 95 %; fewer with a probability of one in two hundred


def test_equal_classes_stay_below_what_chance_gives() -> None:
    random = np.random.default_rng(0)
    above = 0
    for _ in range(100):
        [split] = dataset_bias(splits_of(train=random.integers(0, 10, 400))).splits
        above += split.deviation > split.by_chance
    # 5 are expected; more than 14 with a probability of one in ten thousand
    assert above <= 14


def test_splits_that_differ_are_found() -> None:
    random = np.random.default_rng(1)
    alike = splits_of(
        train=random.integers(0, 5, 2000), test=random.integers(0, 5, 500)
    )
    assert dataset_bias(alike).p_same > 1e-3
    other = splits_of(
        train=random.integers(0, 5, 2000), test=random.integers(0, 4, 500)
    )
    assert dataset_bias(other).p_same < 1e-9


@pytest.mark.parametrize("classes", [3, 100])
def test_the_picture_is_an_svg_that_says_the_numbers(classes: int) -> None:
    labels = np.arange(500) % classes
    report = dataset_bias(
        splits_of(train=labels, validation=labels[:90], test=labels[:80])
    )
    picture = bias_svg(report)
    ElementTree.fromstring(picture)
    assert "train: n = 500, deviation from equal shares" in picture


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (d5.Split({"x": np.ones(3)}), "has no classes 'label'; it has: x"),
        (d5.Split({"label": np.ones(3)}), "holds float64"),
        (
            d5.Split({"label": np.ones((3, 1), int)}),
            "one whole number for each example",
        ),
        (d5.Split({"label": np.array([-1])}), "negative classes"),
    ],
)
def test_what_has_no_classes_is_refused(split: d5.Split, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        dataset_bias({"train": split})


def test_the_verb_shows_a_data_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "classes.svg"
    assert cli.main(["show", "dataset", "digits", "--histogram", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "train: 1079 examples of x float32 (1, 8, 8), label int64 ()" in shown
    assert "classes of test: 10, deviation from equal shares 0.0" in shown
    assert "<svg" in picture.read_text()
    assert (
        cli.main(["show", "dataset", "heat_equation", "--set", "size=20", "--json"])
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert data["bias"] is None and data["splits"]["test"]["examples"] == 4
    for words in (
        ["digit"],
        ["heat_equation", "--histogram", "a.svg"],
        ["digits", "--histogram", "a"],
    ):
        assert cli.main(["show", "dataset", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1
