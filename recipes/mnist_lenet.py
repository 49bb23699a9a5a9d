"""LeNet-5 on MNIST, with Adam. The four IDX files lie in the data folder: `d5 run mnist_lenet --data FOLDER`."""

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from recipes.recipe import run_recipe

FIXED = {
    "model": "lenet",
    "dataset": "mnist",
    "train_sampler": d5.ShuffleSampler,
    "epochs": 10,
}

MUTABLE = {
    "batch_size": 64,
    "executor": d5fw.from_model,
    "optimizer": d5.optimizers.Adam,
    "optimizer_args": (0.001,),
}

METRICS = [
    (d5.TestAccuracy(), 98.5),
    (d5.TimeToAccuracy(target=98.0), None),
    (d5.Throughput(), None),
]

TIERS = {
    "tiny": {"seeds": 2, "epochs": 1},
    "small": {"seeds": 3, "epochs": 3},
}

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS, tiers=TIERS) or exit(1)
