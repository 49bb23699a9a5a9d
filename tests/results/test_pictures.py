import dataclasses
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from deep500.measure.statistics.modality import DensityMode
from deep500.reports.canvas import COLOURS, INK, figure, settings
from deep500.results.benching.order import run_order
from deep500.results.benching.pictures import pictures
from deep500.results.benching.qq import qq_points, straightness
from deep500.results.benching.series import Series, series, thinned, window
from deep500.results.benching.shifts import _panel
from deep500.results.benching.spread import ecdf, violins

from . import bench_data as results

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [
        "".join(element.itertext())
        for element in ElementTree.fromstring(svg).iter(f"{SVG}text")
    ]


def dots(svg: str) -> int:
    return len(re.findall("h0", svg))


@pytest.fixture(scope="module")
def drawn():
    return {picture.name: picture for picture in pictures(results.two())}


def of(values: list[float]) -> Series:
    unknown = dataclasses.replace(results.one().entries[0], low=None, high=None)
    return Series("a", 0, unknown, [np.array(values)], [np.empty(0)])


def test_there_are_five_and_each_is_small_xml(drawn):
    assert list(drawn) == ["violins", "ecdf", "qq", "ratios", "order"]
    for picture in drawn.values():
        ElementTree.fromstring(picture.svg)
        assert len(picture.svg) < 200_000 and picture.caption


def test_text_is_text_in_the_fonts_of_the_system(drawn):
    for picture in drawn.values():
        assert {"a", "b"} & set(texts(picture.svg))
        assert "DejaVu" not in picture.svg and "system-ui" in picture.svg


def test_colours_suit_light_and_dark_pages(drawn):
    for picture in drawn.values():
        colours = {c.lower() for c in re.findall(r"#[0-9a-fA-F]{6}\b", picture.svg)}
        assert colours <= {INK, *COLOURS}  # no white background, no black text


def test_ids_are_unique_across_pictures(drawn):
    ids = [
        i
        for picture in drawn.values()
        for i in re.findall(r' id="([^"]*)"', picture.svg)
    ]
    assert ids and len(ids) == len(set(ids))
    for picture in drawn.values():
        assert set(re.findall(r'(?:url\(|href=")#([\w-]+)', picture.svg)) <= set(ids)


def test_the_same_data_give_the_same_pictures(drawn):
    assert {picture.name: picture for picture in pictures(results.two())} == drawn


def test_settings_of_the_process_are_restored():
    import matplotlib

    before = dict(matplotlib.rcParams)
    pictures(results.one())
    assert dict(matplotlib.rcParams) == before


def test_captions_say_how_to_read(drawn):
    assert "whiskers: from the 5 % to the 95 % quantile" in drawn["violins"].caption
    assert "not connected" in drawn["ratios"].caption
    assert "chosen at random" not in drawn["order"].caption


def test_many_samples_are_thinned_and_the_caption_says_so(make):
    data = make({f"entry {i}": 1e-3 for i in range(12)}, n=500)  # 36 000 values
    discarded = {name: [np.full(400, 5e-3)] * 6 for name in data.samples}
    with settings():
        found = [
            violins(data),
            ecdf(data),
            run_order(dataclasses.replace(data, discarded=discarded)),
        ]
    assert all(picture and len(picture.svg) < 200_000 for picture in found)
    order = found[-1]
    assert order and 3000 < dots(order.svg) <= 5000
    assert "4992 of 36000 values are drawn, chosen at random." in order.caption
    assert "warm-up, cut" in order.caption


def test_few_samples_are_all_drawn(drawn):
    beyond = sum(window([s]).outside(s.values) for s in series(results.two()))
    assert 0 < beyond < 20 and dots(drawn["order"].svg) == 480 - beyond


def test_the_cut_of_the_warm_up_is_shown():
    data = results.two()
    data = dataclasses.replace(
        data, discarded={name: [np.full(5, 1.3e-3)] * 6 for name in data.samples}
    )
    with settings():
        order = run_order(data)
        warmup = {"kind": "warmup", "cut": 30}
        data = results.changed(
            data, lambda derived: derived["entries"][0].update(warmup=warmup)
        )
        blind = run_order(dataclasses.replace(data, discarded={}))
    assert order and blind and dots(order.svg) == dots(blind.svg) + 60
    assert (
        order.svg.count("stroke-dasharray"),
        blind.svg.count("stroke-dasharray"),
    ) == (2, 0)
    assert "warm-up, cut" in order.caption and "are not drawn" in blind.caption


@pytest.mark.parametrize(
    ("values", "log"),
    [([1, 1.5, 9], False), ([1, 2, 3, 5, 8, 11], True), ([2.0] * 9, False)],
)
def test_the_axis_is_logarithmic_only_above_a_spread_of_ten(values, log):
    view = window([of(values)])
    assert view.log is log
    assert view.low < min(values) and view.high > max(values)


def test_far_outliers_do_not_press_the_rest_into_a_corner():
    values = np.r_[np.random.default_rng(0).lognormal(0, 0.05, 500), 9.0]
    view = window([of(values)])
    assert view.high < 2 and not view.log and view.outside(values) >= 1


def test_a_second_mode_is_not_taken_for_an_outlier():
    values = np.r_[np.full(90, 1.0) + np.linspace(0, 0.01, 90), np.full(10, 3.0)]
    assert window([of(values)]).high > 3


def test_thinning_keeps_order_and_size():
    kept = thinned(np.zeros(10_000), 500)
    assert len(kept) == 500 and (np.diff(kept) > 0).all()
    assert list(thinned(np.zeros(3), 500)) == [0, 1, 2]


def test_no_line_connects_the_ratios():
    comparison = results.two().derived.comparisons[0]
    with settings():
        axes = figure(2).subplots()
        _panel(axes, comparison, [0.1, 0.25, 0.5, 0.75, 0.9, 0.99], COLOURS[0])
    lines = [
        line
        for line in axes.get_lines()
        if line.get_linestyle() != "None" and line.get_color() == COLOURS[0]
    ]
    assert lines == []
    # one point with its bar for each interval; p99 was refused
    assert len(axes.containers) == 5


def test_modes_do_not_hide_the_median():
    modes = [DensityMode(at=1.0, share=1.0)]
    known = results.one().entries[0]
    entry = dataclasses.replace(known, median=1.0, low=0.9, high=1.1, modes=modes)
    assert of([1.0]).interval is None
    assert dataclasses.replace(of([1.0]), entry=entry).interval == (1.0, 0.9, 1.1)


def test_long_names_are_shortened_and_numbered(twelve):
    with settings():
        found = [violins(twelve), ecdf(twelve)]
    for picture in found:
        assert picture and [t for t in texts(picture.svg) if "einsum" in t] == [
            s.label for s in series(twelve)
        ]
    assert series(twelve)[0].label == "1. np.einsum('ij,jk->i…ptimize=0)"


def test_more_entries_than_fit_are_left_out_and_the_caption_says_so(make):
    data = make({f"entry {i}": 1e-3 for i in range(15)}, n=8)
    with settings():
        found = [violins(data), ecdf(data)]
    assert all(
        p and "The first 12 of 15 entries are drawn." in p.caption for p in found
    )


def test_values_that_cannot_be_drawn_are_left_out():
    data = results.one()
    data = dataclasses.replace(
        data, samples={"a": [np.array([np.nan, -1.0, np.inf]), np.array([1e-3] * 4)]}
    )
    assert len(series(data)[0].processes) == 1
    assert len(pictures(data)) == 3
    assert pictures(dataclasses.replace(data, samples={"a": [np.array([])]})) == []


def test_names_are_no_formulas(hostile):
    assert any("$x^" in text for text in texts(pictures(hostile)[0].svg))


def test_qq_points_of_a_normal_sample_lie_on_the_line():
    values = np.random.default_rng(0).normal(5, 2, 4000)
    theory, points = qq_points(values)
    assert np.abs(points - theory)[5:-5].max() < 0.15
    slope, shift, *_ = stats.linregress(theory, points)
    assert slope == pytest.approx(1, abs=0.05) and shift == pytest.approx(0, abs=0.05)
    (_, (_, _, theirs)) = stats.probplot(values)
    assert straightness(values) == pytest.approx(theirs, abs=1e-4)


def test_qq_of_a_heavy_tail_bends():
    values = np.random.default_rng(0).pareto(1.5, 500) + 1
    theory, points = qq_points(values)
    assert points[-1] > 2 * theory[-1] and straightness(values) < 0.9


def test_equal_values_have_no_qq():
    data = dataclasses.replace(results.one(), samples={"a": [np.full(50, 1e-3)]})
    assert "qq" not in [picture.name for picture in pictures(data)]
