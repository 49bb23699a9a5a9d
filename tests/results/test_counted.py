"""Counts and values as readers expect them: no "1 seeds", and no space for a unit that is not there."""

from dataclasses import replace

import pytest

from deep500.contracts.claim import judged_by_interval
from deep500.contracts.metric_summary import MetricSummary
from deep500.errors import TooFewSamples
from deep500.measure.statistics.seeds import seeds_interval
from deep500.reports.text import counted
from deep500.results.reproductions.answers import _median, reproduced
from deep500.results.reproductions.blocks import SeedComparison

SAME = SeedComparison(
    seed=0, same_losses=True, same_weights=True, first_step=None, largest=None
)
ALONE = MetricSummary(
    name="Score",
    settings={},
    unit="",
    kind="quality",
    better="higher",
    target=None,
    values=[0.25],
    n=1,
    level=0.95,
    median=0.25,
    low=None,
    high=None,
    method="",
    notes=[],
    acceptable=True,
    sure=False,
)


def test_one_is_singular() -> None:
    assert [counted(n, "seed") for n in (0, 1, 2)] == ["0 seeds", "1 seed", "2 seeds"]
    assert reproduced([SAME], None).text.startswith("the only seed gave the same")
    assert reproduced([SAME] * 2, None).text.startswith("all 2 seeds gave the same")
    other = replace(SAME, same_weights=False)
    assert reproduced([other], None).text.startswith("0 of 1 seed gave")
    with pytest.raises(TooFewSamples, match="an interval over 1 seed was asked for"):
        seeds_interval([0.5])
    assert judged_by_interval(ALONE, 0.5, True).reason == "1 seed gives no interval"


def test_a_value_without_a_unit() -> None:
    assert _median(ALONE) == "0.25, n = 1"
    with_ends = replace(ALONE, low=0.125, high=0.5, n=6)
    assert _median(with_ends) == "0.25 [0.125, 0.5], n = 6"
    assert _median(replace(with_ends, unit="%")) == "0.25 [0.125, 0.5] %, n = 6"
