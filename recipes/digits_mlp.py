"""A multilayer perceptron on scikit-learn's handwritten digits, with momentum."""

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from recipes.recipe import run_recipe

FIXED = {
    "model": "mlp",
    "dataset": "digits",
    "train_sampler": d5.ShuffleSampler,
    "epochs": 20,
}

MUTABLE = {
    "batch_size": 64,
    "executor": d5fw.from_model,
    "optimizer": d5.optimizers.Momentum,
    "optimizer_args": (0.1, 0.9),
}

METRICS = [
    (d5.TestAccuracy(), 93.0),
    (d5.TimeToAccuracy(target=93.0), None),
    (d5.Throughput(), None),
]

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS) or exit(1)
