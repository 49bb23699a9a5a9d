"""A bounded cache of the programs that an executor has built."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

Built = TypeVar("Built")
MOST = 64


class Programs(OrderedDict[Hashable, Built]):
    """Programs by key; if there are more than `most`, the least recently used one is dropped."""

    def __init__(self, most: int = MOST):
        super().__init__()
        self.most = most
        self.built = 0
        self.dropped = 0

    def find(self, key: Hashable, build: Callable[[], Built]) -> Built:
        """The program of this key, built if it is not in the cache."""
        cached = self.recall(key)
        if cached is not None:
            return cached
        program = build()
        self.built += 1
        self[key] = program
        if len(self) > self.most:
            self.popitem(last=False)
            self.dropped += 1
        return program

    def recall(self, key: Hashable) -> Built | None:
        """The program of this key; None if it is not in the cache."""
        program = self.get(key)
        if program is not None:
            self.move_to_end(key)
        return program

    def __repr__(self) -> str:
        return f"{len(self)} programs ({self.built} built, {self.dropped} dropped)"
