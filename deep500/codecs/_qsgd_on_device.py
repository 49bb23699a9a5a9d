"""Quantisation with stochastic rounding of tensors on devices."""

from typing import TYPE_CHECKING

from ..contracts.codec import Key
from ..contracts.device_codec import GatheringCodec, Tensor
from ._buckets import bucket_count
from ._on_device import square_root, torch, uniform, viewed
from ._sums import LANES

if TYPE_CHECKING:
    from .qsgd import QSGD


class QSGDOnDevice(GatheringCodec):
    """Formulas and rounding are those of QSGD, step by step."""

    codec: "QSGD"

    def encode(self, x: Tensor, key: Key) -> Tensor:
        norms = self._norms(x)
        packed = self._pack(self._codes(x, norms, key))
        return torch().cat([norms.view(torch().uint8), packed])

    def accumulate(self, payload: Tensor, total: Tensor, weight: int = 1) -> None:
        size = total.numel()
        boundary = bucket_count(self.codec.bucket, size) * total.element_size()
        norms = viewed(payload[:boundary], total.dtype)
        levels = total.new_full((), self.codec.levels)
        codes = self._unpack(payload[boundary:], size).to(total.dtype)
        decoded = (codes - levels) * self._per_element(norms / levels, size)
        total += decoded * weight

    def _norms(self, x: Tensor) -> Tensor:
        """The norm of every bucket; NaN where it has something that is not finite."""
        rows = self._in_rows(x).abs()
        largest = rows.amax(1)
        norms = largest
        if self.codec.norm == "l2":
            norms = _lengths(rows, largest)
        usable = norms.isfinite() & largest.isfinite()
        return norms.where(usable, norms.new_full((), float("nan")))

    def _codes(self, x: Tensor, norms: Tensor, key: Key) -> Tensor:
        scale = self._per_element(norms, x.numel())
        usable = scale > 0
        zero, one = scale.new_zeros(()), scale.new_ones(())
        magnitudes = x.abs().where(usable, zero)
        exact = magnitudes / scale.where(usable, one) * self.codec.levels
        raised = exact + uniform(key.words(), x)
        level = raised.to(torch().int64).clamp(max=self.codec.levels) * usable
        signed = torch().where(x < 0, -level, level)
        return (signed + self.codec.levels).to(torch().uint8)

    def _per_element(self, scales: Tensor, size: int) -> Tensor:
        return scales.repeat_interleave(self.codec.bucket)[:size]

    def _in_rows(self, x: Tensor) -> Tensor:
        """The buckets as rows, with zeros behind the last element."""
        width = min(self.codec.bucket, x.numel())
        rows = bucket_count(self.codec.bucket, x.numel())
        padded = x.new_zeros(rows * width)
        padded[: x.numel()] = x
        return padded.reshape(rows, width)

    def _pack(self, codes: Tensor) -> Tensor:
        bits = self.codec.bits
        each = 8 // bits
        padded = codes.new_zeros(-(-codes.numel() // each) * each)
        padded[: codes.numel()] = codes
        columns = padded.reshape(-1, each)
        packed = columns[:, 0]
        for place in range(1, each):
            packed = packed | (columns[:, place] << (place * bits))
        return packed

    def _unpack(self, packed: Tensor, count: int) -> Tensor:
        bits = self.codec.bits
        mask = 2**bits - 1
        columns = []
        for place in range(8 // bits):
            columns.append((packed >> (place * bits)) & mask)
        return torch().stack(columns, 1).reshape(-1)[:count]


def _lengths(rows: Tensor, largest: Tensor) -> Tensor:
    """The Euclidean length of every row: eight lanes are added up in order, then the lanes in pairs."""
    unit = largest.where(largest > 0, largest.new_ones(())).double()
    squares = (rows / unit[:, None]) ** 2
    missing = -rows.shape[1] % LANES
    padded = torch().nn.functional.pad(squares, (0, missing))
    lanes = padded.new_zeros((len(rows), LANES))
    for group in padded.split(LANES, 1):
        lanes = lanes + group
    pairs = lanes[:, 0::2] + lanes[:, 1::2]
    halves = pairs[:, 0::2] + pairs[:, 1::2]
    lengths = (unit * square_root(halves[:, 0] + halves[:, 1])).to(rows.dtype)
    return largest.where(largest == 0, lengths)
