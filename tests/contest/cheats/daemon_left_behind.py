"""Leaves a process behind, in a session of its own, whose parent has ended."""

import os
import time

import deep500 as d5

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/bin/sleep", ["sleep", "54321"])
    os._exit(0)
time.sleep(0.2)

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
