"""Buffers as they are, and floats of 16 bits, of tensors on devices."""

from ..contracts.codec import Key, SumRequest
from ..contracts.device_codec import Requests, SummingCodec, Tensor, divided
from ._on_device import torch


class IdentityOnDevice(SummingCodec):
    """The tensor itself."""

    def compress(self, x: Tensor) -> Tensor:
        return x

    def expand(self, form: Tensor, like: Tensor) -> Tensor:
        return form


class HalfOnDevice(SummingCodec):
    """Each rank divides by the number of ranks before it rounds, so that sums stay in range."""

    def compress(self, x: Tensor) -> Tensor:
        return x.to(getattr(torch(), self.codec.dtype))  # type: ignore[attr-defined]

    def expand(self, form: Tensor, like: Tensor) -> Tensor:
        return form.to(like.dtype)

    def exchange(self, x: Tensor, key: Key) -> Requests:
        share = x if key.ranks == 1 else divided(x, key.ranks)
        total = yield SumRequest(self.compress(share))
        return self.expand(total, x), x
