"""Ends its run early by an event, with a reason."""

import deep500 as d5


class Stop(d5.events.Event):
    def before_epoch(self, trainer, epoch):
        return "not a good seed" if epoch == 2 else None


MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
    "events": [Stop()],
}
