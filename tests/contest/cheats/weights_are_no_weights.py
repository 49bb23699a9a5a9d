"""Hands over bytes that would run code if they were unpickled."""

import pickle

import deep500 as d5
from deep500.contest import training_run


class Evil:
    def __reduce__(self):
        return print, ("owned",)


setattr(training_run, "save", lambda arrays: pickle.dumps(Evil()))  # noqa: B010
MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
