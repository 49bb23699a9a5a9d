"""The error metrics against numbers worked out by hand, and pictures of arrays of every rank."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500.check.operators.differences import differences, ulps, variance
from deep500.check.operators.formats import FORMATS
from deep500.check.operators.heatmaps import difference_map, flattened, variance_map
from deep500.errors import Deep500Error


def test_the_five_numbers():
    found = differences([1.0, 2.0, 2.0], [1.0, 5.0, 6.0])
    assert (found.l1, found.l2, found.maximum) == (7.0, 5.0, 4.0)
    assert found.relative == pytest.approx(5 / np.sqrt(62))
    assert found.ulp == 4 / 2.0**-50  # 6 lies between 4 and 8


def test_equal_infinities_and_nans_are_no_difference():
    same = np.array([np.inf, np.nan, -np.inf, 0.0])
    assert differences(same, same).maximum == 0
    assert np.isnan(differences([np.nan], [1.0]).maximum)
    assert differences([np.inf], [1.0]).maximum == np.inf
    assert differences([1.0], [0.0]).relative == np.inf
    assert differences(np.zeros((0, 3)), np.zeros((0, 3))).l1 == 0


def test_shapes_must_agree():
    with pytest.raises(Deep500Error, match="give equal shapes"):
        differences([1.0], [1.0, 2.0])


@given(st.floats(-(2.0**100), 2.0**100, width=32))
def test_the_next_number_is_one_ulp_away(x):
    x = np.float32(x)
    spacing = FORMATS["float32"].spacing(x)
    assert spacing == np.spacing(np.abs(x))
    step = np.float32(np.sign(x) or 1) * np.float32(np.inf)
    assert ulps(np.nextafter(x, step), x) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_what_ml_dtypes_says(name):
    limits = ml_dtypes.finfo(name)
    form = FORMATS[name]
    assert (form.eps, form.tiny, form.largest) == (
        float(limits.eps),
        float(limits.tiny),
        float(limits.max),
    )


def test_variance_over_runs():
    draw = np.random.default_rng(0)
    runs = draw.standard_normal((10, 4, 5))
    np.testing.assert_allclose(variance(list(runs)), np.var(runs, axis=0, ddof=1))
    # ten samples of N(0, 1) do vary
    assert variance(list(runs)).mean() == pytest.approx(1, abs=0.5)
    assert np.all(variance([np.ones(3)] * 4) == 0)
    with pytest.raises(Deep500Error, match="at least 2"):
        variance([np.ones(3)])


SLOW = [(1,), (100,), (3, 4), (2, 3, 4, 5), (1, 2, 1, 3, 2), (900, 700)]


@pytest.mark.parametrize(
    "shape",
    [(), (5,), (2, 3, 4), *(pytest.param(s, marks=pytest.mark.slow) for s in SLOW)],
)
def test_arrays_of_any_rank_are_drawn(shape, tmp_path):
    values = np.arange(np.prod(shape), dtype="float64").reshape(shape)
    matrix, rows, columns = flattened(values)
    assert matrix.ndim == 2 and rows and columns
    assert np.array_equal(matrix.reshape(-1)[: values.size], values.reshape(-1))
    for name in ("a.svg", "b.png"):
        path = difference_map(tmp_path / name, values, values + 0.5, "test")
        assert path == tmp_path / name and path.stat().st_size > 1000
        assert variance_map(
            tmp_path / f"v{name}", np.stack([values, values + 1]), "test"
        ).is_file()


def test_the_picture_carries_the_numbers(tmp_path):
    got, want = (
        np.array([[1.0, 2.0], [2.0, np.nan]]),
        np.array([[1.0, 5.0], [6.0, 1.0]]),
    )
    text = difference_map(
        tmp_path / "d.svg", got[:1], want[:1], "Softmax-0"
    ).read_text()
    assert text.startswith("<svg") and all(
        word in text for word in ("Softmax-0", "L1 3", "maximum 3", "ULP")
    )
    assert difference_map(tmp_path / "nan.svg", got, want, "x").is_file()
    assert (
        "10 runs"
        in variance_map(tmp_path / "v.svg", np.zeros((10, 2, 2)), "x").read_text()
    )
    with pytest.raises(Deep500Error, match="neither"):
        difference_map(tmp_path / "d.pdf", got, want, "x")
