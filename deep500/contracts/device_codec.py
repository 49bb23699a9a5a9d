"""Codecs of tensors that stay in the memory of a device: the same bits as those of arrays in the host's memory."""

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Any

import numpy as np

from ..errors import Deep500Error
from .codec import AverageRequest, Codec, GatherRequest, Key, Request
from .compressing import codec_key, prefix
from .dtypes import name_of
from .layout import Bucket
from .scheme import Worker
from .transport import Program, all_gather, all_reduce

Tensor = Any  # torch.Tensor; contracts import no framework
Requests = Generator[Request, Any, tuple[Tensor, Tensor]]
RESIDUAL = "residual"
CODED = ("float32", "float64")


class DeviceCodec(ABC):
    """What a codec does with flat tensors of PyTorch's. Nothing in it may wait for the device or copy to the host."""

    def __init__(self, codec: Codec):
        self.codec = codec

    @abstractmethod
    def exchange(self, x: Tensor, key: Key) -> Requests:
        """Send x and receive the mean over all ranks; returns the mean, and what is left of x."""


class SummingCodec(DeviceCodec):
    """A linear codec, whose coded tensors an allreduce adds up."""

    @abstractmethod
    def compress(self, x: Tensor) -> Tensor:
        """The coded tensor."""

    @abstractmethod
    def expand(self, form: Tensor, like: Tensor) -> Tensor:
        """The decoded tensor, of the dtype of another."""

    def exchange(self, x: Tensor, key: Key) -> Requests:
        total = yield AverageRequest(self.compress(x))
        return self.expand(total, x), x


class GatheringCodec(DeviceCodec):
    """A codec whose payloads, of equal length, are sent to all ranks."""

    @abstractmethod
    def encode(self, x: Tensor, key: Key) -> Tensor:
        """The payload, a tensor of uint8."""

    @abstractmethod
    def accumulate(self, payload: Tensor, total: Tensor, weight: int = 1) -> None:
        """Add a decoded payload to `total`, or with a weight of -1, subtract it."""

    def exchange(self, x: Tensor, key: Key) -> Requests:
        payload = self.encode(x, key)
        payloads = yield GatherRequest(payload)
        residual = x
        if self.codec.error_feedback:
            residual = x.clone()
            self.accumulate(payload, residual, -1)
        total = x.new_zeros(x.shape)
        for received in payloads:
            self.accumulate(received, total)
        return divided(total, len(payloads)), residual


def divided(x: Tensor, count: int) -> Tensor:
    """x / count as a division: by a number of Python's, CUDA would multiply with its rounded inverse."""
    return x / x.new_full((), count)


def device_mean(
    worker: Worker, codec: DeviceCodec, bucket: Bucket, part: Tensor
) -> Program:
    """Replace a bucket's part of the gradients on the device by its mean, as `compressed_mean` does on the host.

    What the codec keeps is in `worker.state` under the same name, as a tensor on the device.
    """
    if name_of(part.dtype) not in CODED:
        raise Deep500Error(
            f"a codec takes a flat buffer of float32 or float64, and {part.dtype} was given"
        )
    name = prefix(bucket) + RESIDUAL
    x = part
    if codec.codec.error_feedback:
        x = part + _kept(worker, name, part)
    requests = codec.exchange(x, codec_key(worker, bucket))
    mean, residual = yield from _carried_out(requests, worker.size)
    part.copy_(mean)
    if codec.codec.error_feedback:
        worker.state[name] = residual.where(residual.isfinite(), residual.new_zeros(()))


def _kept(worker: Worker, name: str, like: Tensor) -> Tensor:
    """What is left of the gradients before; a checkpoint has it as an array."""
    residual = worker.state.get(name)
    if residual is None:
        return like.new_zeros(like.shape)
    if isinstance(residual, np.ndarray):
        return like.new_tensor(residual)
    return residual


def _carried_out(requests: Requests, size: int) -> Program:
    answer: Any = None
    while True:
        try:
            request = requests.send(answer)
        except StopIteration as stop:
            return stop.value
        if isinstance(request, GatherRequest):
            answer = yield from all_gather(request.payload)
            continue
        tensor: Tensor = request.array
        answer = tensor.clone()
        yield from all_reduce(answer)
        if isinstance(request, AverageRequest):
            answer = divided(answer, size)
