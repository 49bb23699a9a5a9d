"""A recipe in low precision, from the entry to the report."""

import numpy as np
import pytest

import deep500 as d5
from deep500.bundle.records.bundle_comparison import compare
from deep500.bundle.records.verification import verify
from deep500.contracts.recipe import Recipe
from deep500.errors import Deep500Error
from deep500.reports.terminal import blocks_text, terminal
from deep500.rerun import recipe_runner
from deep500.training.recipe_blocks import epochs_of

FIXED = {"model": d5.networks.Mlp(hidden=(16,)), "dataset": "digits", "epochs": 2}
MUTABLE = {
    "batch_size": 128,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
METRICS = [(d5.metrics.RoundingNoise(), 0.5), (d5.metrics.SkippedSteps(), 0)]


def recipe(precision, **mutable):
    return Recipe("low", FIXED, MUTABLE | {"precision": precision} | mutable, METRICS)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


@pytest.fixture
def run(tmp_path):
    def train(precision, name):
        return recipe_runner.run(
            recipe(precision), tmp_path / name, seeds=1, tier="small"
        )

    return train


def test_the_noise_is_in_the_report_and_the_bundle_verifies(run):
    outcome = run(d5.precisions.Float8(loss_scale=256.0), "float8")
    assert outcome and verify(outcome.bundle).ok
    text = terminal(outcome.record.report())
    assert "Rounding beside the minibatch" in text and "steps were skipped" in text
    noise, skipped = outcome.derived.metrics
    assert 0 < noise.median < 0.5 and skipped.median == 0
    assert outcome.record.plan.recipe.mutable["precision"]["definition"] == "Float8"


def test_two_precisions_are_compared_and_hashed_apart(run):
    a, b = run("TernaryWeights", "a"), run(d5.precisions.StochasticRounding(), "b")
    assert a.record.plan.hash != b.record.plan.hash
    text = blocks_text(compare(a.bundle, b.bundle).blocks())
    assert (
        "precision" in text
        and "StochasticRounding" in text
        and "FIXED is the same" in text
    )


def test_the_same_recipe_gives_the_same_bits(run):
    runs = [run(d5.precisions.StochasticRounding(), name) for name in ("once", "again")]
    losses = [
        [epoch.series["loss"] for epoch in epochs_of(r.record.blocks)] for r in runs
    ]
    np.testing.assert_array_equal(losses[0], losses[1])


@pytest.mark.parametrize("entry", ["Float9", d5.optimizers.SGD(0.1), 3])
def test_what_is_no_precision_is_refused(entry, tmp_path):
    with pytest.raises(Deep500Error):
        recipe_runner.run(recipe(entry), tmp_path / "x", seeds=1)
