"""Work is handed over to a new process every millisecond, so that a list of processes is old when it is read."""

import mmap
import os
import signal
import struct
import time

import deep500 as d5

reading, writing = os.pipe()
shared = mmap.mmap(-1, 8)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def work():
    """A third of a second of CPU time for every epoch, in as many processes as it takes."""
    while True:
        end = time.process_time() + 0.001
        while time.process_time() < end:
            pass
        [done] = struct.unpack("d", shared[:])
        done += 0.001
        if done >= 0.3:
            done = 0.0
            os.write(writing, b".")
        shared[:] = struct.pack("d", done)
        if os.fork():
            os._exit(0)


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
