"""Sibling classes for older opsets do what the newest class does with the same settings as inputs."""

import numpy as np
import pytest

from deep500.frameworks import available_frameworks, framework
from deep500.operators.clip import Clip, Clip_6
from deep500.operators.dropout import Dropout, Dropout_1, Dropout_10
from deep500.operators.group_normalization import (
    GroupNormalization,
    GroupNormalization_18,
)

X, DY = (
    np.linspace(-2, 3, 12, dtype="float32").reshape(3, 4),
    np.arange(12, dtype="float32").reshape(3, 4),
)


@pytest.mark.parametrize("name", available_frameworks())
def test_clip_by_attributes(name: str) -> None:
    fw, low, high = framework(name), np.float32(-0.5), np.float32(1.25)
    for composed in (False, True):
        old, new = (
            fw.evaluate(Clip_6(min=-0.5, max=1.25), [X], composed),
            fw.evaluate(Clip(), [X, low, high], composed),
        )
        assert np.array_equal(old[0], new[0]) and old[0].dtype == np.float32
    old_slope, new_slope = (
        fw.gradient(Clip_6(-0.5, 1.25), [X], [DY])[0],
        fw.gradient(Clip(), [X, low, high], [DY])[0],
    )
    assert np.array_equal(old_slope, new_slope) and 0 < np.sum(old_slope != 0) < 11
    assert np.array_equal(fw.evaluate(Clip_6(), [X])[0], X)


@pytest.mark.parametrize("name", available_frameworks())
def test_group_normalization_with_a_scale_for_every_group(name: str) -> None:
    draw, fw = np.random.default_rng(3), framework(name)
    x, dy = (draw.normal(size=(2, 6, 4)).astype("float32") for _ in range(2))
    scale, bias = np.array([2.0, -0.5], "float32"), np.array([0.25, 1.0], "float32")
    wide = [x, scale.repeat(3), bias.repeat(3)]
    old, new = GroupNormalization_18(2), GroupNormalization(2)
    for composed in (False, True):
        found, right = (
            fw.evaluate(old, [x, scale, bias], composed)[0],
            fw.evaluate(new, wide, composed)[0],
        )
        assert np.allclose(found, right, rtol=1e-5, atol=1e-6)
    dx, dscale, dbias = fw.gradient(old, [x, scale, bias], [dy])
    dx_right, *by_channel = fw.gradient(new, wide, [dy])
    assert (
        dx is not None
        and dx_right is not None
        and np.allclose(dx, dx_right, rtol=1e-4, atol=1e-5)
    )
    for found, channels in zip((dscale, dbias), by_channel, strict=True):
        assert found is not None and channels is not None
        assert np.allclose(
            found, channels.reshape(2, 3).sum(axis=1), rtol=1e-4, atol=1e-5
        )
        # the other way to group
        assert not np.allclose(found, channels.reshape(3, 2).sum(axis=0), atol=1e-3)


@pytest.mark.parametrize("name", available_frameworks())
def test_dropout_before_it_could_be_trained(name: str) -> None:
    fw = framework(name)
    right = fw.evaluate(Dropout(), [X])
    for old, mask in (
        (Dropout_10(ratio=0.3), np.ones((3, 4), bool)),
        (Dropout_1(ratio=0.3), np.ones_like(X)),
    ):
        y, ones = fw.evaluate(old, [X])
        assert (
            np.array_equal(y, right[0])
            and np.array_equal(ones, mask)
            and ones.dtype == mask.dtype
        )
        slope = fw.gradient(old, [X], [DY, None])[0]
        assert slope is not None and np.array_equal(slope, DY)
