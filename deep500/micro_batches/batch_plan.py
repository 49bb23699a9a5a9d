"""A way to compute a convolution for some examples, and a plan: the kernels that compute a batch, part by part."""

import itertools
import math
import re
from dataclasses import dataclass

from ..errors import Deep500Error

PART = re.compile(r"(?:(\d+) x )?(\d+) (\w+)")


@dataclass(frozen=True)
class TimedKernel:
    """An algorithm for a micro-batch: how long it takes, and how many bytes of workspace it uses."""

    algorithm: str
    examples: int
    seconds: float
    workspace: int


@dataclass(frozen=True)
class BatchPlan:
    """The kernels that compute a batch, one after the other, in the same workspace."""

    kernels: tuple[TimedKernel, ...]

    @property
    def examples(self) -> int:
        return sum(kernel.examples for kernel in self.kernels)

    @property
    def seconds(self) -> float:
        return math.fsum(kernel.seconds for kernel in self.kernels)

    @property
    def workspace(self) -> int:
        return max(kernel.workspace for kernel in self.kernels)

    @property
    def text(self) -> str:
        """Equal parts together, the largest first: "2 x 32 winograd4 + 8 direct"."""
        parts = [(kernel.examples, kernel.algorithm) for kernel in self.kernels]
        parts.sort(key=lambda part: (-part[0], part[1]))
        texts = []
        for (examples, algorithm), equal in itertools.groupby(parts):
            count = len(list(equal))
            times = f"{count} x " if count > 1 else ""
            texts.append(f"{times}{examples} {algorithm}")
        return " + ".join(texts)


def parts_of(text: str) -> list[tuple[int, str]]:
    """The micro-batches of a plan's text, each with its algorithm."""
    parts = []
    for term in text.split(" + "):
        match = PART.fullmatch(term)
        if match is None or int(match[2]) < 1:
            raise Deep500Error(
                f"{text!r} is no plan of micro-batches: write it as in '2 x 32 winograd4 + 8 direct'"
            )
        parts += [(int(match[2]), match[3])] * int(match[1] or 1)
    return parts
