"""Declares more than a plan can hold."""

import sys

import deep500 as d5

Channel = sys.modules["__main__"].Channel
real = Channel.answer


def answer(self, key, value):
    nested: dict = {}
    for _ in range(100):
        nested = {"deeper": nested}
    real(self, key, {"mutable": nested, "framework": "reference"})


Channel.answer = answer

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
