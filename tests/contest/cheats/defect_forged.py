"""Writes into the channel that Deep500 itself has a defect."""

import json
import sys

import deep500 as d5


def answer(self, key, value):
    told = {"token": self.token, "internal": "a defect", "traceback": "of yours"}
    self.replies.write(json.dumps(told) + "\n")
    self.replies.flush()


sys.modules["__main__"].Channel.answer = answer

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
