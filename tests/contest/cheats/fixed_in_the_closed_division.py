"""Trains for longer than everybody else."""

import deep500 as d5

FIXED = {"epochs": 300}
MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
