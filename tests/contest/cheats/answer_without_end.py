"""Sends an answer of gigabytes."""

import sys

import deep500 as d5


def answer(self, key, value):
    while True:
        self.replies.write("x" * (1 << 20))


sys.modules["__main__"].Channel.answer = answer

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
