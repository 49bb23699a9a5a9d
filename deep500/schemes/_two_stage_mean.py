"""The second stage of 1-bit SGD (Seide et al., 2014): the owner of a range averages it, and codes the mean again."""

from dataclasses import replace

import numpy as np

from ..collectives.direct import Direct
from ..contracts.codec import Codec, Key, State, check_buffer, quiet
from ..contracts.compressing import codec_key, codec_state, keep_codec_state
from ..contracts.layout import Bucket
from ..contracts.scheme import Worker
from ..contracts.transport import Program, all_gather

OWNED = "owned residual"  # in a worker's state: what the second coding has lost of the rank's own range


def two_stage_mean(
    worker: Worker, codec: Codec, bucket: Bucket, part: np.ndarray
) -> Program:
    """Replace a bucket's part of a buffer by its mean over all ranks, coded before and after it is made.

    Every rank sends 2 (P - 1) / P of a payload, instead of P - 1 payloads as with one stage.
    """
    check_buffer(part)
    state = codec_state(worker, codec, bucket, part)
    key = codec_key(worker, bucket)
    x = codec.accumulated(part, state)
    pieces = np.array_split(x, worker.size)
    payloads = []
    sent = []
    for owner, piece in enumerate(pieces):
        payloads.append(codec.message(piece, _for(key, f"to {owner}")))
        sent.append(codec.decoded(payloads[-1], piece.size, piece.dtype))
    with quiet():
        residual = x - np.concatenate(sent)
    own = pieces[worker.rank]
    received = [np.empty_like(payloads[worker.rank]) for _ in payloads]
    exchange = Direct().all_to_all(worker.rank, worker.size, payloads, received)
    yield from exchange
    mean = codec.mean(received, own.size, own.dtype)
    coded = _coded_again(codec, mean, state, _for(key, "mean"))
    means = yield from all_gather(coded, uneven=True)
    for piece, payload in zip(np.array_split(part, worker.size), means, strict=True):
        np.copyto(piece, codec.decoded(payload, piece.size, piece.dtype))
    state.update(codec.left(part, state, x, residual))
    keep_codec_state(worker, bucket, state)


def _coded_again(codec: Codec, mean: np.ndarray, state: State, key: Key) -> np.ndarray:
    """The payload of a mean, with what the payloads before it have lost."""
    if not codec.error_feedback:
        return codec.message(mean, key)
    with quiet():
        mean = mean + state.get(OWNED, 0)
    payload = codec.message(mean, key)
    with quiet():
        state[OWNED] = mean - codec.decoded(payload, mean.size, mean.dtype)
    return payload


def _for(key: Key, what: str) -> Key:
    """The key of other random numbers."""
    return replace(key, tensor=f"{key.tensor}, {what}")
