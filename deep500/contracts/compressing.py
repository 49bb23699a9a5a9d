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
    state = codec_state(worker, codec, bucket, part)
    aggregation = codec.aggregate(part, state, codec_key(worker, bucket), slots)
    mean = yield from carried_out(codec, aggregation, worker.size)
    np.copyto(part, mean)
    keep_codec_state(worker, bucket, state)


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


def codec_key(worker: Worker, bucket: Bucket) -> Key:
    """The key of the random numbers with which a bucket is encoded in this step."""
    ranks = worker.rank, worker.size
    return Key(worker.seed, worker.step_count, *ranks, bucket.names[0])


def codec_state(
    worker: Worker, codec: Codec, bucket: Bucket, part: np.ndarray
) -> State:
    """What the codec has kept for a bucket so far, or keeps at the beginning."""
    begin = prefix(bucket)
    state = {}
    for name, value in worker.state.items():
        if name.startswith(begin):
            state[name.removeprefix(begin)] = value
    return state or codec.init(part.size, part.dtype, slots_of(worker.layout, bucket))


def keep_codec_state(worker: Worker, bucket: Bucket, state: State) -> None:
    for name, value in state.items():
        worker.state[prefix(bucket) + name] = value


def prefix(bucket: Bucket) -> str:
    """How the names in a worker's state begin of what a codec keeps for a bucket."""
    return f"codec {bucket.names[0]}: "
