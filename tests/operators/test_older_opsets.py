"""Sibling classes for older opsets do what the newest class does with the same settings as inputs."""

import numpy as np
import pytest

from deep500.frameworks import available_frameworks, framework
from deep500.operators.clip import Clip, Clip_6

X, DY = np.linspace(-2, 3, 12, dtype="float32").reshape(3, 4), np.arange(12, dtype="float32").reshape(3, 4)


@pytest.mark.parametrize("name", available_frameworks())
def test_clip_by_attributes(name: str) -> None:
    fw, low, high = framework(name), np.float32(-0.5), np.float32(1.25)
    for composed in (False, True):
        old, new = fw.evaluate(Clip_6(min=-0.5, max=1.25), [X], composed), fw.evaluate(Clip(), [X, low, high], composed)
        assert np.array_equal(old[0], new[0]) and old[0].dtype == np.float32
    old_slope, new_slope = fw.gradient(Clip_6(-0.5, 1.25), [X], [DY])[0], fw.gradient(Clip(), [X, low, high], [DY])[0]
    assert np.array_equal(old_slope, new_slope) and 0 < np.sum(old_slope != 0) < 11
    assert np.array_equal(fw.evaluate(Clip_6(), [X])[0], X)
