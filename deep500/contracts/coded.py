"""The aggregation of a codec as a program of communication steps, for schemes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .codec import Average, Codec, Gather, Key, Request, State
from .layout import Slot
from .transport import AllGather, AllReduce, Program, Wait


def coded_mean(
    codec: Codec, buffer: np.ndarray, state: State, key: Key, slots: Sequence[Slot] = ()
) -> Program:
    """A program that returns the mean of this buffer over all ranks; the buffer may be overwritten."""
    aggregation = codec.aggregate(buffer, state, key, slots)
    answer = None
    while True:
        try:
            request = aggregation.send(answer)
        except StopIteration as stop:
            return stop.value
        answer = yield from _answered(request, key.ranks, codec.fixed_size)


def _answered(request: Request, ranks: int, even: bool) -> Program:
    step: Any
    if isinstance(request, Gather):
        step = AllGather(request.payload, uneven=not even)
    else:
        step = AllReduce(request.array)
    handle = yield step
    [answer] = yield Wait([handle])
    if isinstance(request, Average):
        answer /= answer.dtype.type(ranks)
    return answer
