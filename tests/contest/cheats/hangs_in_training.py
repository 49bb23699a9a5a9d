"""Stands still in the first epoch."""

import time

import deep500 as d5


class Hang(d5.events.Event):
    def before_epoch(self, trainer, epoch):
        time.sleep(10_000)


MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
    "events": [Hang()],
}
