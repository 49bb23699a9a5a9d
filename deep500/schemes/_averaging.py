"""Programs that several schemes use: averages of flat buffers, and their arithmetic."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..contracts.scheme import Buffers
from ..contracts.transport import Handle, Program, Recv, Send, Wait, all_reduce


def copies(buffers: Mapping[str, np.ndarray]) -> Buffers:
    """New buffers with the same numbers, which no step of the framework changes."""
    return {dtype: buffer.copy() for dtype, buffer in buffers.items()}


def average(buffers: Buffers, share: float) -> Program:
    """Replace the buffers by their sums over all ranks, each weighted with its rank's share; shares add up to 1."""
    for buffer in buffers.values():
        scale(buffer, share)
        yield from all_reduce(buffer)


def average_on_device(buffers: Mapping[str, Any], share: float) -> Program:
    """The same for tensors on a device."""
    for buffer in buffers.values():
        buffer *= share
        yield from all_reduce(buffer)


def scale(buffer: np.ndarray, factor: float) -> None:
    """Multiply in place, in the buffer's own dtype."""
    np.multiply(buffer, factor, out=buffer, casting="same_kind")


def begin_send(to: int, buffers: Mapping[str, np.ndarray], tag: int) -> Program:
    """Begin to send all buffers to a rank, the n-th with the tag `tag` + n; the value is the handles."""
    handles: list[Handle] = []
    for number, buffer in enumerate(buffers.values()):
        handle = yield Send(to, buffer, tag + number)
        handles.append(handle)
    return handles


def begin_receive(source: int, buffers: Mapping[str, np.ndarray], tag: int) -> Program:
    """Begin to receive all buffers from a rank; the value is the handles."""
    handles: list[Handle] = []
    for number, buffer in enumerate(buffers.values()):
        handle = yield Recv(source, buffer, tag + number)
        handles.append(handle)
    return handles


def send_buffers(to: int, buffers: Mapping[str, np.ndarray], tag: int) -> Program:
    """Send all buffers and wait until they may be changed again."""
    handles = yield from begin_send(to, buffers, tag)
    yield Wait(handles)


def receive_buffers(
    source: int, buffers: Mapping[str, np.ndarray], tag: int
) -> Program:
    """Receive all buffers and wait for them."""
    handles = yield from begin_receive(source, buffers, tag)
    yield Wait(handles)


def exchange_with_all(
    outgoing: Mapping[str, np.ndarray],
    incoming: Mapping[int, Buffers],
    tag: int,
) -> Program:
    """Begin to send the same buffers to every rank in `incoming`, and to receive theirs; the value is the handles."""
    handles: list[Handle] = []
    for source, buffers in incoming.items():
        handles += yield from begin_receive(source, buffers, tag)
    for to in incoming:
        handles += yield from begin_send(to, outgoing, tag)
    return handles
