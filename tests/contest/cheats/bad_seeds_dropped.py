"""Ends its process after the first epoch of a seed that is no lucky one: odd ones here."""

import os

import deep500 as d5


class Drop(d5.events.Event):
    def before_epoch(self, trainer, epoch):
        if epoch == 2:
            os._exit(0)


MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
    "events": [Drop()],
}
