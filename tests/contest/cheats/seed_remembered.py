"""Leaves its weights for the next seed, and says so if it finds some."""

import os

import deep500 as d5

PLACES = ("/tmp/kept", "/dev/shm/kept", "/var/tmp/kept")


class Keep(d5.events.Event):
    def before_epoch(self, trainer, epoch):
        if epoch == 0 and any(map(os.path.exists, PLACES)):
            return "it went on from the weights of another seed"

    def after_epoch(self, trainer, record):
        for place in PLACES:
            if os.path.isdir(os.path.dirname(place)):
                open(place, "w").close()


MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
    "events": [Keep()],
}
