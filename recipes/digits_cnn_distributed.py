"""The digits' convolutional network on four ranks: gradients are averaged, and what is sent is counted."""

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
    "batch_size": 64,  # of all ranks together
    "ranks": 4,
    "transport": "virtual",  # or mpi, torch: see docs/distributed.md
    "scheme": d5.schemes.AllReduce(),
    "executor": d5fw.from_model,
    "optimizer": d5.optimizers.Adam,
    "optimizer_args": (0.003,),
}

METRICS = [
    (d5.TestAccuracy(), 95.0),
    (d5.metrics.BytesPerRank(), None),
    (d5.metrics.MessagesPerRank(), None),
    (d5.metrics.ExposedCommunication(), None),
    (d5.metrics.LoadImbalance(), None),
    (d5.metrics.AccuracyPerMegabyte(), None),
]

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS) or exit(1)
