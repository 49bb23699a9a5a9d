"""Laws of augmentations: decided by example and epoch, true to their specs, and each one's own."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import deep500 as d5
from deep500 import registry
from deep500.contracts.augmentation import Augmentation, Draws
from deep500.errors import Deep500Error

PICTURES = np.random.default_rng(0).random((40, 3, 8, 10)).astype(np.float32) + 0.1
DATA = d5.Split({"x": PICTURES, "label": np.arange(40) % 7})
ALL: list[Augmentation] = [
    d5.augmentations.RandomFlip(),
    d5.augmentations.RandomCrop(padding=2),
    d5.augmentations.RandomCrop(padding=0, height=5, width=4),
    d5.augmentations.Cutout(size=4),
    d5.augmentations.Normalise(mean=(0.5, 0.4, 0.3), deviation=(0.2,)),
    d5.augmentations.MixUp(0.5),
]


def test_every_augmentation_is_tested_here() -> None:
    assert {type(one).__name__ for one in ALL} == {*registry.known("augmentations")}


@pytest.mark.parametrize("augmentation", ALL, ids=repr)
def test_what_comes_out_is_as_the_specs_say(augmentation: Augmentation) -> None:
    split = DATA.transformed(augmentation)
    before = PICTURES.copy()
    batch = split.batch(np.array([3, 30, 4]), epoch=2)
    assert np.array_equal(PICTURES, before)
    for name, spec in split.specs.items():
        assert batch[name].shape == (3, *spec.shape) and batch[name].dtype == spec.dtype


@pytest.mark.parametrize("augmentation", ALL[:-1], ids=repr)
def test_an_example_is_changed_alike_in_every_batch(augmentation: Augmentation) -> None:
    split = DATA.transformed(augmentation, seed=5)
    everything = split.batch(slice(None), epoch=1)["x"]
    assert np.array_equal(
        split.batch(np.array([30, 4]), epoch=1)["x"], everything[[30, 4]]
    )


@pytest.mark.parametrize(
    "augmentation", [one for one in ALL if "Norm" not in repr(one)], ids=repr
)
def test_epochs_and_seeds_differ(augmentation: Augmentation) -> None:
    first = DATA.transformed(augmentation, seed=5)
    other = DATA.transformed(augmentation, seed=6)
    changed = first.batch(slice(None), epoch=1)["x"]
    assert np.array_equal(changed, first.batch(slice(None), epoch=1)["x"])
    assert not np.array_equal(changed, first.batch(slice(None), epoch=2)["x"])
    assert not np.array_equal(changed, other.batch(slice(None), epoch=1)["x"])


def test_a_crop_is_a_part_of_the_padded_picture_and_all_places_occur() -> None:
    crop = d5.augmentations.RandomCrop(padding=1)
    picture = PICTURES[0]
    padded = np.pad(picture, ((0, 0), (1, 1), (1, 1)))
    parts = [
        padded[:, top : top + 8, left : left + 10]
        for top in range(3)
        for left in range(3)
    ]
    counts = np.zeros(9)
    many = np.repeat(PICTURES[:1], 900, axis=0)
    for cropped in crop.change(many, Draws(0, 0, 0, np.arange(900))):
        [place] = [n for n, part in enumerate(parts) if np.array_equal(cropped, part)]
        counts[place] += 1
    assert stats.chisquare(counts).pvalue > 1e-4


def test_cutout_leaves_a_square_of_zeros() -> None:
    holes = d5.augmentations.Cutout(size=3).change(
        PICTURES, Draws(0, 0, 0, np.arange(40))
    )
    sizes = []
    for before, after in zip(PICTURES, holes, strict=True):
        gone = after == 0
        assert np.array_equal(after[~gone], before[~gone])
        assert np.array_equal(gone[0], gone[1]) and np.array_equal(gone[0], gone[2])
        rows, columns = gone[0].any(axis=1).sum(), gone[0].any(axis=0).sum()
        assert gone[0].sum() == rows * columns and 1 < rows <= 3 and 1 < columns <= 3
        sizes.append(rows * columns)
    assert max(sizes) == 9


def test_flips_are_half_of_the_pictures() -> None:
    flipped = d5.augmentations.RandomFlip().change(
        PICTURES, Draws(0, 0, 0, np.arange(40))
    )
    kinds = [np.array_equal(f, p) for f, p in zip(flipped, PICTURES, strict=True)]
    mirrored = [
        np.array_equal(f, p[..., ::-1]) for f, p in zip(flipped, PICTURES, strict=True)
    ]
    assert (
        all(k != m for k, m in zip(kinds, mirrored, strict=True))
        and 8 < sum(kinds) < 32
    )


def test_normalising_is_its_formula() -> None:
    mean, deviation = (0.5, 0.4, 0.3), (0.2, 0.25, 0.5)
    result = d5.augmentations.Normalise(mean=mean, deviation=deviation).change(
        PICTURES, None
    )
    shape = (3, 1, 1)
    wanted = (PICTURES.astype(float) - np.reshape(mean, shape)) / np.reshape(
        deviation, shape
    )
    assert np.allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_mix_up_mixes_two_examples_and_chooses_labels_by_their_share() -> None:
    count = 4000
    x = np.eye(count, dtype=np.float32)
    batch = {"x": x, "label": np.arange(count)}
    mixed = d5.augmentations.MixUp(0.4).apply(batch, Draws(0, 0, 0, np.arange(count)))
    assert np.allclose(mixed["x"].sum(axis=1), 1, atol=1e-5)
    shares = mixed["x"][np.arange(count), np.arange(count)]
    assert stats.kstest(shares, stats.beta(0.4, 0.4).cdf).pvalue > 1e-4
    keeps = mixed["label"] == np.arange(count)
    others = mixed["x"].copy()
    np.fill_diagonal(others, 0)
    of_others = mixed["label"][~keeps]
    strong = shares[~keeps] < 0.9
    assert np.array_equal(of_others[strong], others[~keeps].argmax(axis=1)[strong])
    # the label stays with probability λ: the mean of what is left over is 0 within four standard errors
    assert (
        abs((keeps - shares).mean())
        < 4 * np.sqrt((shares * (1 - shares)).sum()) / count
    )


def test_mix_up_mixes_real_targets() -> None:
    batch = {"x": np.eye(5, dtype=np.float32), "target": np.eye(5)}
    mixed = d5.augmentations.MixUp(1.0, ("x", "target")).apply(
        batch, Draws(0, 0, 0, np.arange(5))
    )
    assert np.allclose(mixed["x"], mixed["target"], atol=1e-6)


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("RandomCrop", {"padding": -1}, "none is negative"),
    ("RandomCrop", {"padding": 0, "height": 9}, "cuts out 9 × 10"),
    ("Cutout", {"size": 0}, "1 pixel at least"),
    ("Normalise", {"deviation": (0,)}, "deviations above 0"),
    ("Normalise", {"mean": (1, 2)}, "has 2 numbers, and the pictures have 3 channels"),
    ("MixUp", {"alpha": 0}, "alpha is above 0"),
    ("MixUp", {"arrays": ("y",)}, "mixes 'y', and the data have: x, label"),
    ("MixUp", {"arrays": ("label",)}, "mixes real numbers"),
    ("RandomFlip", {"array": "y"}, "changes 'y', and the data have: x, label"),
    ("Cutout", {"array": "label"}, "changes pictures"),
]


@pytest.mark.parametrize(("name", "settings", "message"), BAD)
def test_bad_settings_are_refused(
    name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(Deep500Error, match=message):
        _ = DATA.transformed(registry.find("augmentations", name)(**settings)).specs
