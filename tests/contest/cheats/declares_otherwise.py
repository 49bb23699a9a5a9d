"""Declares another MUTABLE to every process, so that what is published is not what was run."""

import random

import deep500 as d5

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1 + random.random() / 100),
}
