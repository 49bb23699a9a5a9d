"""An auto-encoder: handwritten digits of 64 pixels through a layer of eight numbers and back."""

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from recipes.recipe import run_recipe

FIXED = {
    "model": "mlp",
    "model_kwargs": {"hidden": (48, 8, 48)},
    "dataset": "digits",
    "task": "reconstruction",
    "train_sampler": d5.ShuffleSampler,
    "epochs": 40,
}

MUTABLE = {
    "batch_size": 64,
    "executor": d5fw.from_model,
    "optimizer": d5.optimizers.Adam,
    "optimizer_args": (0.003,),
}

METRICS = [
    (d5.FinalQuality("mean squared error"), 0.04),
    (d5.Throughput(), None),
]

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS) or exit(1)
