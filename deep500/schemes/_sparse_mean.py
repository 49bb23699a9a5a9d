"""The mean of what a codec keeps, by a collective for sparse streams."""

import numpy as np

from ..collectives.spar_cml import SparCML
from ..contracts.codec import Codec, check_buffer, quiet
from ..contracts.collective import Collective
from ..contracts.compressing import codec_key, codec_state, keep_codec_state
from ..contracts.layout import Bucket
from ..contracts.scheme import Worker
from ..contracts.sparse_stream import SparseStream, stream_of
from ..contracts.transport import Program

# names in a worker's state: the entries of the last sum, which SparCML expects again, and its last choice
UNION = "union"
CHOICE = "choice"


def sparse_mean(
    worker: Worker,
    codec: Codec,
    collective: Collective,
    bucket: Bucket,
    part: np.ndarray,
) -> Program:
    """Replace a bucket's part of a buffer by its mean over all ranks, as far as the codec keeps it.

    What the codec or the collective leaves out is the residual, which is added to the next gradient.
    """
    check_buffer(part)
    state = codec_state(worker, codec, bucket, part)
    x = codec.accumulated(part, state)
    sent = codec.contribution(x, codec_key(worker, bucket))
    total = yield from _summed(worker, collective, stream_of(sent), state)
    with quiet():
        residual = x - _arrived(sent, total, collective)
    state.update(codec.left(part, state, x, residual))
    np.copyto(part, total.dense())
    part /= part.dtype.type(worker.size)
    keep_codec_state(worker, bucket, state)


def _summed(
    worker: Worker,
    collective: Collective,
    stream: SparseStream,
    state: dict[str, np.ndarray],
) -> Program:
    """The sum of all ranks; SparCML learns from the one before."""
    rank, size = worker.rank, worker.size
    if not isinstance(collective, SparCML):
        return (yield from collective.sparse_all_reduce(rank, size, stream))
    union = int(state[UNION][0]) if UNION in state else None
    total, choice = yield from collective.switched(rank, size, stream, union)
    state[UNION] = np.array([choice.came])
    state[CHOICE] = np.array(choice.numbers)
    return total


def _arrived(
    sent: np.ndarray, total: SparseStream, collective: Collective
) -> np.ndarray:
    """What this rank sent and what is in the sum; a collective may leave entries out."""
    if total.indices is None or not collective.lossy:
        return sent
    arrived = np.zeros_like(sent)
    arrived[total.indices] = sent[total.indices]
    return arrived
