"""A table: how a diabetes progresses, from ten measurements of 442 patients. The data come with scikit-learn."""

import numpy as np

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from recipes.recipe import run_recipe


class Diabetes(d5.Dataset):
    """Ten standardised features, and the progression with mean 0 and deviation 1 over the training patients."""

    patients: int = 442

    def load(self):
        from sklearn.datasets import load_diabetes

        x, progression = load_diabetes(return_X_y=True)
        order = np.random.Generator(np.random.Philox(key=442)).permutation(len(x))[
            : self.patients
        ]
        features = (
            21.0 * x[order]
        )  # scikit-learn's columns have the norm 1: deviation 1 / 21
        fifth = len(order) // 5
        known = progression[order][: -2 * fifth]
        target = (progression[order] - known.mean()) / known.std()
        parts = {
            "train": slice(0, -2 * fifth),
            "validation": slice(-2 * fifth, -fifth),
            "test": slice(-fifth, None),
        }
        splits = {}
        for name, rows in parts.items():
            arrays = {"x": features[rows], "target": target[rows, None]}
            splits[name] = d5.Split(
                {key: a.astype(np.float32) for key, a in arrays.items()}
            )
        return splits


FIXED = {
    "model": "mlp",
    "model_kwargs": {"hidden": (16,)},
    "dataset": "Diabetes",
    "task": "regression",
    "train_sampler": d5.ShuffleSampler,
    "epochs": 60,
}

MUTABLE = {
    "batch_size": 32,
    "executor": d5fw.from_model,
    "optimizer": d5.optimizers.SGD,
    "optimizer_args": (0.02,),
}

METRICS = [
    (d5.FinalQuality("R2"), 0.4),
    (d5.FinalQuality("mean squared error"), 0.6),
    (d5.Throughput(), None),
]

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS) or exit(1)
