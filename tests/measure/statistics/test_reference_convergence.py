"""MLPerf's test of convergence: its bound is that of SciPy's t test, slow points are left out, others interpolated."""

import numpy as np
import pytest
from scipy import stats

from deep500.measure.statistics.reference_convergence import (
    ReferencePoint,
    at_batch,
    lower_envelope,
    reference_point,
    trimmed,
)


def test_the_least_mean_is_where_the_t_test_says_no() -> None:
    needed = [41.0, 40, 42, 41, 40, 41, 42, 41, 40, 42, 43, 39]
    point = reference_point(256, needed, 1)
    assert point is not None
    assert point.mean == pytest.approx(stats.trim_mean(needed, 1 / 12))
    assert point.spread == pytest.approx(np.std(needed))
    runs = 3
    for shift, is_sure in ((-0.001, True), (0.001, False)):
        p = stats.ttest_ind_from_stats(
            point.least(runs) + shift,
            point.spread,
            runs,
            point.mean,
            point.spread,
            point.runs,
            alternative="less",
        ).pvalue
        assert (p < 0.05) == is_sure


def test_few_runs_leave_nothing() -> None:
    assert trimmed([1.0, 2.0], 1) == []
    assert reference_point(256, [1.0, 2.0], 1) is None
    point = reference_point(256, [1.0, 2.0, 4.0], 1)
    assert point is not None and (point.mean, point.runs) == (2.0, 1)


def test_slow_points_are_left_out_and_others_interpolated() -> None:
    points = [
        ReferencePoint(batch, mean, spread, 18)
        for batch, mean, spread in (
            (800, 60.0, 4.0),
            (100, 45.0, 1.0),  # slower than with a larger batch
            (200, 40.0, 2.0),
            (400, 55.0, 3.0),  # slower than between its neighbours
        )
    ]
    kept = lower_envelope(points)
    assert [point.batch for point in kept] == [200, 800]
    assert at_batch(kept, 400) == ReferencePoint(400, 40 + 20 / 3, 2 + 2 / 3, 18)
    assert at_batch(kept, 100) is None and at_batch(kept, 801) is None
