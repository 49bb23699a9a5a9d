"""Declares something that no plan holds."""

import sys

import deep500 as d5

Channel = sys.modules["__main__"].Channel
real = Channel.answer


def answer(self, key, value):
    real(self, key, {"mutable": [1, 2], "framework": "\x1b[2J" * 1000, "layers": {}})


Channel.answer = answer

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
