"""The recipe of the tests' contests: small digits, small network, and a target that an honest submission meets."""

import deep500 as d5

FIXED = {"model": "mlp", "dataset": "digits", "epochs": 3}
MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
METRICS = [
    (d5.TestAccuracy(), 20.0),
    (d5.TimeToAccuracy(20.0), None),
    (d5.Throughput(), None),
]
