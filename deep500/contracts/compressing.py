"""A codec's aggregation as communication steps, and its state as a part of the worker's."""

from typing import Any

import numpy as np

from .codec import (
    Aggregation,
    AverageRequest,
    Codec,
    GatherRequest,
    Key,
    State,
    slots_of,
)
from .layout import Bucket
from .scheme import Worker
from .transport import Program, all_gather, all_reduce


def compressed_mean(
    worker: Worker, codec: Codec, bucket: Bucket, part: np.ndarray
) -> Program:
    """Replace a bucket's part of a buffer by its mean over all ranks, as far as the codec keeps it.

    Residuals and whatever else the codec keeps are in `worker.state`, under the name of the bucket's first tensor.
    """
    slots = slots_of(worker.layout, bucket)
    tensor = bucket.names[0]
    state = _state(worker, tensor) or codec.init(part.size, part.dtype, slots)
    key = Key(worker.seed, worker.step_count, worker.rank, worker.size, tensor)
    mean = yield from carried_out(
        codec, codec.aggregate(part, state, key, slots), worker.size
    )
    np.copyto(part, mean)
    for name, value in state.items():
        worker.state[f"codec {tensor}: {name}"] = value


def carried_out(codec: Codec, aggregation: Aggregation, size: int) -> Program:
    """Do what an aggregation asks for; its value is the mean."""
    answer: Any = None
    while True:
        try:
            request = aggregation.send(answer)
        except StopIteration as stop:
            return stop.value
        if isinstance(request, GatherRequest):
            answer = yield from all_gather(request.payload, uneven=not codec.fixed_size)
            continue
        answer = request.array.copy()
        yield from all_reduce(answer)
        if isinstance(request, AverageRequest):
            answer = (answer / answer.dtype.type(size)).astype(answer.dtype)


def _state(worker: Worker, tensor: str) -> State:
    """What the codec has kept for a bucket so far."""
    prefix = f"codec {tensor}: "
    state = {}
    for name, value in worker.state.items():
        if name.startswith(prefix):
            state[name.removeprefix(prefix)] = value
    return state
