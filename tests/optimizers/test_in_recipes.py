"""Every kind of optimizer as a MUTABLE entry of a recipe."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from deep500.contracts.recipe import Recipe
from deep500.optimizers import Adam, ClipByNorm, Group

FIXED = {
    "model": "mlp",
    "model_kwargs": {"hidden": (16,)},
    "dataset": "digits",
    "epochs": 2,
}
METRICS = [(d5.TestAccuracy(), 20.0)]


class MyRule(d5.UpdateRuleOptimizer):
    """Gradient descent as a user writes it."""

    def __init__(self, learning_rate: float):
        self.learning_rate = learning_rate

    def update_rule(
        self, grad: np.ndarray, old_param: np.ndarray, param_name: str
    ) -> np.ndarray:
        return old_param - self.learning_rate * grad


COMPOSED = (
    Adam(d5.schedules.WarmUp(0.01, 10)) | ClipByNorm(1.0) | Group("*bias", Adam(0.01))
)


@pytest.mark.parametrize(
    "optimizer",
    [
        {"optimizer": d5fw.MomentumOptimizer, "optimizer_args": (0.1, 0.9)},
        {"optimizer": MyRule, "optimizer_args": (0.2,)},
        {"optimizer": COMPOSED},
        {"optimizer": "nesterov", "optimizer_args": (0.05,)},
    ],
    ids=["native", "class", "composed", "name"],
)
def test_a_recipe_takes_it(optimizer: dict[str, Any], tmp_path: Path) -> None:
    mutable = {"batch_size": 128, "executor": "pytorch", **optimizer}
    folder = tmp_path / "bundle"
    outcome = d5.run_recipe(
        FIXED, mutable, METRICS, folder=folder, tier="tiny", seeds=1
    )
    assert outcome, outcome.derived


def test_settings_are_part_of_the_hash() -> None:
    def recipe(optimizer: Any) -> Recipe:
        mutable = {"batch_size": 128, "executor": "pytorch", "optimizer": optimizer}
        return Recipe("test", FIXED, mutable, METRICS)

    other = (
        Adam(d5.schedules.WarmUp(0.01, 11))
        | ClipByNorm(1.0)
        | Group("*bias", Adam(0.01))
    )
    assert recipe(COMPOSED).hash == recipe(COMPOSED).hash != recipe(other).hash
