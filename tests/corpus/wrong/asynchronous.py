"""Threads of Python: an answer that is returned before it is there."""

import threading
import time

import numpy as np

import deep500 as d5


class FillsLater(d5.CustomPythonOp):
    """The kernel was started, and nobody waits for it."""

    def forward(self, inputs):
        x = inputs[0].copy()
        y = np.zeros_like(x)

        def kernel():
            time.sleep(0.05)
            np.tanh(x, out=y)

        threading.Thread(target=kernel).start()
        return y


class SpoilsLater(d5.CustomPythonOp):
    """The answer is right when it is returned, and is overwritten by a late copy a little after."""

    def forward(self, inputs):
        y = np.tanh(inputs[0])

        def late():
            time.sleep(0.002)
            y.fill(0)

        threading.Thread(target=late).start()
        return y


class SharedSum(d5.CustomPythonOp):
    """Threads add to one total without a lock: both read it before either has written."""

    def forward(self, inputs):
        x = inputs[0]
        total = np.zeros((), x.dtype)
        both_have_read = threading.Barrier(2)

        def add(part):
            before = total.copy()
            both_have_read.wait()
            total[...] = before + part.sum()

        threads = [
            threading.Thread(target=add, args=(part,)) for part in np.array_split(x, 2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return total
