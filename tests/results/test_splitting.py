"""The ratio of two times to a target as steps × time per step, and many runs as performance profiles."""

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from deep500 import bundle
from deep500.errors import Deep500Error
from deep500.reports.html import html
from deep500.reports.terminal import blocks_text
from deep500.results.outcomes.profiling import runs_profile
from deep500.results.outcomes.recipe_comparison import contrast
from deep500.results.outcomes.splitting import time_splits
from deep500.schema import encoded
from tests.training.recipe_documents import checked_record, plan_document

BEFORE = Path(__file__).parents[1] / "data" / "before" / "recipe-0.1.0.zip"
ENVIRONMENT = json.loads(json.dumps(bundle.read(BEFORE).documents["environment.json"]))
METRICS = [[{"definition": "TimeToAccuracy", "settings": {"target": 90.0}}, None]]


def run_of(seed, epochs, step_seconds, steps=10, total=8):
    """A seed that reaches the target after so many epochs (never, if there are not so many)."""
    blocks = []
    for epoch in range(1, total + 1):
        accuracy = {"accuracy": 95.0 if epoch >= epochs else 50.0}
        seconds = epoch * steps * step_seconds
        blocks.append(
            {
                "seed": seed,
                "series": {"loss": [1.0] * steps, "seconds": [step_seconds] * steps},
                "counters": {"samples": 64 * steps * epoch},
                "evaluation": {
                    "epoch": epoch,
                    "step": epoch * steps,
                    "seconds": seconds,
                    "validation": accuracy,
                },
                "checkpoint": "x",
            }
        )
    end = {
        "seed": seed,
        "test": {"accuracy": 95.0},
        "build_seconds": 0.1,
        "weights": "y",
    }
    return [*blocks, end]


def record_of(runs, name="digits", fixed=None, **mutable):
    seeds = list(range(len(runs)))
    recipe = {
        "name": name,
        "fixed": fixed or {"epochs": 8},
        "mutable": mutable,
        "metrics": METRICS,
    }
    plan = plan_document(recipe, epochs=8, tier="small", seeds=seeds, threads=1)
    blocks = []
    for seed, (epochs, step_seconds) in enumerate(runs):
        blocks += run_of(seed, epochs, step_seconds)
    return checked_record(plan, blocks, copy.deepcopy(ENVIRONMENT))


A = record_of([(4, 0.010), (4, 0.011), (5, 0.010), (4, 0.012)])
# fewer steps, each slower
B = record_of([(2, 0.012), (3, 0.013), (2, 0.014), (2, 0.013)])


def test_the_factors_multiply_to_the_ratio_of_the_times():
    [split] = time_splits(A, B, 0.95)
    assert split.time.ratio == pytest.approx(
        split.steps.ratio * split.step_time.ratio, rel=1e-12
    )
    assert (
        split.steps.ratio < 1 < split.step_time.ratio
        and split.paired
        and split.censored == 0
    )


def test_the_numbers_are_those_of_scipys_paired_t():
    [split] = time_splits(A, B, 0.95)
    steps = np.log([2 / 4, 3 / 4, 2 / 5, 2 / 4])
    known = stats.ttest_1samp(steps, 0).confidence_interval(0.95)
    assert split.steps.ratio == pytest.approx(np.exp(steps.mean()))
    assert (split.steps.low, split.steps.high) == pytest.approx(
        (np.exp(known.low), np.exp(known.high))
    )


def test_without_pairs_the_interval_is_welchs():
    other = record_of([(2, 0.012), (3, 0.013), (2, 0.014), (2, 0.013), (3, 0.012)])
    [split] = time_splits(A, other, 0.9)
    a, b = np.log([4, 4, 5, 4]), np.log([2, 3, 2, 2, 3])
    known = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.9)
    assert not split.paired
    assert (split.steps.low, split.steps.high) == pytest.approx(
        (np.exp(known.low), np.exp(known.high))
    )


def test_seeds_that_never_arrive_are_not_dropped():
    late = record_of([(2, 0.012), (99, 0.013), (2, 0.014), (2, 0.013)])
    [split] = time_splits(A, late, 0.95)
    assert split.time is None and split.steps is None and split.censored == 1
    assert split.step_time.ratio > 1
    text = blocks_text(contrast(A, late, 0.02, 0.95).blocks)
    assert "not known" in text and "Of A 0 seeds, of B 1 seed never reached" in text


def test_two_seeds_have_no_interval():
    slow, fast = record_of([(4, 0.01), (4, 0.01)]), record_of([(2, 0.01), (2, 0.01)])
    [split] = time_splits(slow, fast, 0.95)
    assert split.steps.ratio == pytest.approx(0.5) and split.steps.low is None


def test_compare_shows_the_split_and_json_holds_it():
    found = contrast(A, B, 0.02, 0.95)
    assert "statistical performance" in blocks_text(found.blocks)
    [split] = encoded(found.data["splits"])
    assert split["steps"]["n"] == 4
    assert math.isclose(
        split["time"]["ratio"], split["steps"]["ratio"] * split["step_time"]["ratio"]
    )


def grid():
    """Two systems on three problems; SGD never arrives on the last."""
    return [
        record_of([(2, 0.01)] * 3, "one", {"n": 1}, optimizer="Adam", batch_size=64),
        record_of([(4, 0.01)] * 3, "one", {"n": 1}, optimizer="SGD", batch_size=64),
        record_of([(4, 0.01)] * 3, "two", {"n": 2}, optimizer="Adam", batch_size=64),
        record_of([(2, 0.01)] * 3, "two", {"n": 2}, optimizer="SGD", batch_size=64),
        record_of([(4, 0.01)] * 3, "two", {"n": 3}, optimizer="Adam", batch_size=64),
        record_of([(99, 0.01)] * 3, "two", {"n": 3}, optimizer="SGD", batch_size=64),
    ]


def test_many_runs_as_profiles():
    found = runs_profile(grid())
    assert found.metric == "TimeToAccuracy" and found.profiles.problems == (
        "one",
        "two",
        "two (2)",
    )
    adam, sgd = found.profiles.systems
    assert (adam.system, sgd.system) == ("Adam", "SGD")
    assert adam.ratios == pytest.approx((1, 2, 1)) and sgd.ratios == pytest.approx(
        (2, 1, math.inf)
    )
    assert adam.score == pytest.approx(2.5 / 3) and sgd.score == pytest.approx(1.5 / 3)
    assert (
        json.loads(json.dumps(found.to_json(), allow_nan=False))["systems"][1][
            "ratios"
        ][2]
        is None
    )


def test_the_page_has_the_picture_and_the_table():
    page = html(runs_profile(grid()).report())
    assert page.count("<figure") == 1 and "within τ" in page and "failed" in page
    assert page.count("<svg") == 2  # for wide screens, and for phones
    assert '<p class="headline">' in page and "is first by time to accuracy" in page
    assert "3 problems are few" in page


def test_a_problem_that_a_system_was_not_run_on_is_left_out_and_said():
    found = runs_profile(grid()[:5])
    assert found.profiles.problems == ("one", "two") and "two (2)" in found.warnings[0]


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(Deep500Error, match="two bundles are of"):
        runs_profile([grid()[0], grid()[0]])
    with pytest.raises(Deep500Error, match="NoSuch"):
        runs_profile(grid(), metric="NoSuch")
