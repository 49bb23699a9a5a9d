"""Counts and values as readers expect them: no "1 seeds", and no space for a unit that is not there."""

from deep500.contracts.claim import judged_by_interval
from deep500.reports.text import counted
from deep500.results.reproductions.answers import _median, reproduced

SEED = {"seed": 0, "same_losses": True, "same_weights": True}


def test_one_is_singular() -> None:
    assert [counted(n, "seed") for n in (0, 1, 2)] == ["0 seeds", "1 seed", "2 seeds"]
    assert reproduced({}, [SEED])["text"].startswith("the only seed gave the same")
    assert reproduced({}, [SEED] * 2)["text"].startswith("all 2 seeds gave the same")
    other = SEED | {"same_weights": False}
    assert reproduced({}, [other])["text"].startswith("0 of 1 seed gave")
    alone = {"low": None, "high": None, "n": 1}
    assert judged_by_interval(alone, 0.5, True).reason == "1 seed gives no interval"


def test_a_value_without_a_unit() -> None:
    metric = {"median": 0.25, "low": None, "high": None, "unit": "", "n": 1}
    assert _median(metric) == "0.25, n = 1"
    with_ends = metric | {"low": 0.125, "high": 0.5, "n": 6}
    assert _median(with_ends) == "0.25 [0.125, 0.5], n = 6"
    assert _median(with_ends | {"unit": "%"}) == "0.25 [0.125, 0.5] %, n = 6"
