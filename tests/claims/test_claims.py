"""Claims: three verdicts by intervals, judged from a bundle without any code of a recipe."""

import json
from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500 import bundle
from deep500.bundle.records.verification import verify
from deep500.errors import Deep500Error
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.recipe_runner import run
from tests.training.recipe_documents import checked_plan, summary

RECIPE = '''
import numpy as np

import deep500 as d5


class Spread(d5.Metric):
    """A number that the file computes by itself."""

    kind = "cost"
    unit = "s"
    better = "lower"
    factor: float = 1.0

    def value(self, history):
        return self.factor * (1 + 0.01 * history.seed)


FIXED = {"model": "mlp", "dataset": "synthetic_images", "epochs": 2}
MUTABLE = {"batch_size": 256, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)}
METRICS = [(d5.FinalLoss(), None)]
CLAIMS = [
    d5.FinalLoss() <= 1000.0,
    d5.TestAccuracy() >= 200.0,
    d5.claims.Faster(Spread(), Spread(2.0), 1.5),
    d5.claims.Faster(Spread(2.0), Spread(), 1.5),
]
'''


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    (folder / "claims.py").write_text(RECIPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(folder / "home"))
        return run(load_recipe(folder / "claims.py"), folder / "run", seeds=3).bundle


@pytest.mark.parametrize(
    ("low", "high", "at_least", "at_most"),
    [
        (4.0, 6.0, "holds", "fails"),
        (1.0, 2.9, "fails", "holds"),
        (2.0, 6.0, "not decided", "not decided"),
        (None, None, "not decided", "not decided"),
        (3.0, 3.0, "holds", "holds"),
    ],
)
def test_an_interval_decides(low: Any, high: Any, at_least: str, at_most: str) -> None:
    metric = d5.TestAccuracy()
    over_seeds = summary([5.0] * 3, low=low, high=high)
    assert (metric >= 3.0).judge([over_seeds]).verdict == at_least
    assert (metric <= 3.0).judge([over_seeds]).verdict == at_most


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ((300.0, 310.0, 305.0), (200.0, 204.0, 202.0), "holds"),
        ((200.0, 204.0, 202.0), (300.0, 310.0, 305.0), "fails"),
        ((300.0, 100.0, 250.0), (200.0, 200.0, 200.0), "not decided"),
        ((300.0, 310.0), (200.0, 204.0), "not decided"),
        ((300.0, None, 305.0), (200.0, 204.0, 202.0), "not decided"),
    ],
)
def test_rates_are_compared_seed_by_seed(a: Any, b: Any, verdict: str) -> None:
    claim = d5.claims.Faster(d5.Throughput(), d5.Throughput(), 1.2)
    assert claim.judge([summary(a), summary(b)]).verdict == verdict


def test_a_bundle_is_judged_without_the_recipe(made: Path) -> None:
    (made.parent / "claims.py").unlink()
    found = bundle.read(made)
    derived: Any = found.documents["derived.json"]
    verdicts = [claim["verdict"] for claim in derived["claims"]]
    assert verdicts == ["holds", "fails", "holds", "fails"]
    assert derived["claims"][0]["claim"] == "FinalLoss() <= 1000"
    assert derived["claims"][2]["claim"].startswith("Spread(")
    assert verify(made).ok


def test_a_forged_verdict_and_a_forged_claim_are_noticed(
    made: Path, tmp_path: Path
) -> None:
    found = bundle.read(made)
    documents: Any = json.loads(json.dumps(found.documents))
    documents["derived.json"]["claims"][1]["verdict"] = "holds"
    begun = {name: documents[name] for name in ("plan.json", "environment.json")}
    writer = bundle.create(tmp_path / "forged", begun, kind="recipe")
    for block in found.blocks:
        writer.append(block)
    writer.finish({"derived.json": documents["derived.json"]})
    assert any(
        "claims/1" in problem for problem in verify(tmp_path / "forged").problems
    )


@pytest.mark.parametrize(
    "change",
    [
        {"claim": "System"},
        {"claim": "AtLeast", "metrics": {}},
        {"claim": "AtLeast", "metrics": {"metric": 5}},
        {"claim": "AtLeast", "numbers": {"bound": "__import__"}},
        {"claim": "AtLeast", "numbers": {"other": 5}},
        {"claim": 5},
    ],
)
def test_claims_of_files_from_anyone(made: Path, change: dict[str, Any]) -> None:
    plan: Any = json.loads(json.dumps(bundle.read(made).documents["plan.json"]))
    plan["recipe"]["claims"][0] |= change
    with pytest.raises(Deep500Error):
        checked_plan(plan)
