"""What a heat-map shows of elements that are no numbers."""

import numpy as np
import pytest
from matplotlib.image import imread

from deep500.check.operators.heatmaps import difference_map


@pytest.mark.parametrize(
    ("bad", "orange"), [(None, False), (np.nan, True), (np.inf, True)]
)
def test_only_what_is_not_finite_is_orange(bad, orange, tmp_path):
    # wrapped into 11 columns, so that seven cells of the last row are no elements
    got = np.linspace(1, 2, 103)
    got[5] = got[5] if bad is None else bad
    pixels = imread(
        difference_map(tmp_path / "map.png", got, np.ones(103), "a vector")
    )[..., :3]
    assert (
        np.all(
            np.abs(pixels - np.array([0xD5, 0x5E, 0x00]) / 255) < 0.01, axis=-1
        ).any()
        == orange
    )
