"""An honest submission: another optimizer, another batch size."""

import deep500 as d5

MUTABLE = {
    "batch_size": 32,
    "executor": "reference",
    "optimizer": d5.optimizers.Adam(0.003),
}
