"""Takes all memory, and touches it."""

import deep500 as d5

HELD = []
while True:
    HELD.append(bytearray(b"x") * (64 << 20))

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
