"""Takes memory in many processes, each below the limit of one."""

import os
import time

import deep500 as d5

for _ in range(8):
    if os.fork() == 0:
        held = bytearray(b"x") * (200 << 20)
        time.sleep(100)
time.sleep(100)

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
