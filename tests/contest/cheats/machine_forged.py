"""Says that it runs on another machine."""

import os
import platform

import deep500 as d5

platform.processor = lambda: "Abacus 1"
os.cpu_count = lambda: 4096
os.environ["PYTHONPATH"] = "/elsewhere"

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
