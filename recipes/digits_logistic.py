"""Logistic regression on scikit-learn's handwritten digits, with gradient descent."""

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from recipes.recipe import run_recipe

FIXED = {
    "model": "mlp",
    "model_kwargs": {"hidden": ()},
    "dataset": "digits",
    "train_sampler": d5.ShuffleSampler,
    "epochs": 40,
}

MUTABLE = {
    "batch_size": 32,
    "executor": d5fw.from_model,
    "optimizer": d5.optimizers.SGD,
    "optimizer_args": (0.2,),
}

METRICS = [
    (d5.TestAccuracy(), 93.0),
    (d5.FinalLoss(), None),
    (d5.Throughput(), None),
]

CLAIMS = [
    d5.TestAccuracy() >= 93.0,
]

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS, claims=CLAIMS) or exit(1)
