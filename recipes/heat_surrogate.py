"""A network in place of a solver: from the temperatures of a rod, those some time later (the heat equation)."""

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from recipes.recipe import run_recipe

FIXED = {
    "model": "mlp",
    "model_kwargs": {"hidden": (128, 128)},
    "dataset": "heat_equation",
    "dataset_kwargs": {"size": 4000, "points": 63},
    "task": "regression",
    "train_sampler": d5.ShuffleSampler,
    "epochs": 30,
}

MUTABLE = {
    "batch_size": 64,
    "executor": d5fw.from_model,
    "optimizer": d5.optimizers.Adam,
    "optimizer_args": (0.001,),
}

METRICS = [
    (d5.FinalQuality("R2"), 0.99),
    (d5.FinalQuality("mean absolute error"), None),
    (d5.Throughput(), None),
]

TIERS = {
    "tiny": {
        "seeds": 2,
        "epochs": 3,
        "dataset_kwargs": {"size": 400, "points": 15},
        "model_kwargs": {"hidden": (32,)},
    },
}

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS, tiers=TIERS) or exit(1)
