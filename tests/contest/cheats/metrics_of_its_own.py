"""Brings METRICS and targets of its own."""

import deep500 as d5

METRICS = [(d5.TestAccuracy(), 1.0)]
CLAIMS = [d5.TestAccuracy() >= 1.0]
TIERS = {"small": {"epochs": 1}}
MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
