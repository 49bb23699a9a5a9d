"""A process in a session of its own works on while the judge evaluates."""

import os
import time

import deep500 as d5

reading, writing = os.pipe()


def work():
    """A third of a second of CPU time for every epoch, wherever it finds it."""
    os.setsid()
    while True:
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        os.write(writing, b".")


class Late(d5.events.Event):
    """The weights of an epoch are only good once the work of that epoch is done."""

    def before_epoch(self, trainer, epoch):
        if epoch:
            os.read(reading, 1)
        elif os.fork() == 0:
            work()


MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
    "events": [Late()],
}
