"""What an executor has built, kept for the next call: bounded and counted."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

Built = TypeVar("Built")
MOST = 64


class Programs(OrderedDict[Hashable, Built]):
    """Programs by key; the one that was used least recently goes when there are more than `most`."""

    def __init__(self, most: int = MOST):
        super().__init__()
        self.most = most
        self.built = 0
        self.dropped = 0

    def find(self, key: Hashable, build: Callable[[], Built]) -> Built:
        """The program of this key, built when it is not there."""
        known = self.recall(key)
        if known is not None:
            return known
        program = build()
        self.built += 1
        self[key] = program
        if len(self) > self.most:
            self.popitem(last=False)
            self.dropped += 1
        return program

    def recall(self, key: Hashable) -> Built | None:
        """The program of this key, if it is there."""
        program = self.get(key)
        if program is not None:
            self.move_to_end(key)
        return program

    def __repr__(self) -> str:
        return f"{len(self)} programs ({self.built} built, {self.dropped} dropped)"
