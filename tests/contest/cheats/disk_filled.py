"""Writes until no disk is left."""

import deep500 as d5

with open("/tmp/full", "wb") as file:
    while True:
        file.write(bytes(1 << 20))

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
