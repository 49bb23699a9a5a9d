"""A small convolutional network on scikit-learn's handwritten digits, with Adam."""

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from recipes.recipe import run_recipe

FIXED = {
    "model": "digits_cnn",
    "dataset": "digits",
    "train_sampler": d5.ShuffleSampler,
    "epochs": 20,
}

MUTABLE = {
    "batch_size": 64,
    "executor": d5fw.from_model,
    "optimizer": d5.optimizers.Adam,
    "optimizer_args": (0.003,),
}

METRICS = [
    (d5.TestAccuracy(), 95.0),
    (d5.TimeToAccuracy(target=95.0), None),
    (d5.Throughput(), None),
]

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS) or exit(1)
