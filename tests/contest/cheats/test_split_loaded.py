"""Asks the data set of FIXED for its test split."""

import deep500 as d5

SPLITS = d5.datasets.Digits().load()

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
