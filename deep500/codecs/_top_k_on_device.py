"""The largest numbers of every bucket of tensors on devices."""

from typing import TYPE_CHECKING

from ..contracts.codec import Key
from ..contracts.device_codec import GatheringCodec, Tensor
from ._buckets import bucket_sizes
from ._on_device import torch, viewed

if TYPE_CHECKING:
    from .top_k import TopK

INTEGERS = {4: "int32", 8: "int64"}  # by the bytes of a float
PLACES = {1: "uint8", 2: "uint16", 4: "uint32"}  # by the bytes of a place


class TopKOnDevice(GatheringCodec):
    """The number of values is known beforehand, so that nothing waits for the device."""

    codec: "TopK"

    def encode(self, x: Tensor, key: Key) -> Tensor:
        each, full, rest = bucket_sizes(self.codec.bucket, x.numel())
        boundary = full * each
        rows = x[:boundary].reshape(full, each)
        columns = [_largest(rows, self.codec.chosen(each))]
        if rest:
            last = x[boundary:].reshape(1, rest)
            columns.append(_largest(last, self.codec.chosen(rest)))
        side = torch().cat(columns)
        values = x[self._in_buffer(side, x.numel())]
        width = self.codec.most_side_bytes(x.numel()) // max(1, side.numel())
        places = side.to(getattr(torch(), PLACES[max(1, width)]))
        bytes_ = torch().uint8
        return torch().cat([places.view(bytes_), values.view(bytes_)])

    def accumulate(self, payload: Tensor, total: Tensor, weight: int = 1) -> None:
        size = total.numel()
        boundary = self.codec.most_side_bytes(size)
        count = self.codec.most_values(size)
        width = boundary // max(1, count)
        kind = getattr(torch(), PLACES[max(1, width)])
        side = viewed(payload[:boundary], kind).to(torch().int64)
        values = viewed(payload[boundary:], total.dtype)
        total.index_add_(0, self._in_buffer(side, size), values * weight)

    def _in_buffer(self, columns: Tensor, size: int) -> Tensor:
        """Places inside of buckets, as places of the whole buffer."""
        each, full, rest = bucket_sizes(self.codec.bucket, size)
        if full + bool(rest) <= 1:
            return columns
        starts = torch().arange(full, device=columns.device) * each
        starts = starts.repeat_interleave(self.codec.chosen(each))
        boundary = starts.numel()
        last = columns[boundary:] + full * each
        return torch().cat([columns[:boundary] + starts, last])


def _largest(rows: Tensor, count: int) -> Tensor:
    """The columns of the `count` largest magnitudes of every row, in ascending order, row by row.

    Of equal ones, those with the lower index, which a stable sort leaves in front.
    """
    bits = rows.view(getattr(torch(), INTEGERS[rows.element_size()]))
    sign = 1 << (8 * rows.element_size() - 1)
    magnitudes = bits & (sign - 1)
    _, order = torch().sort(magnitudes, dim=1, descending=True, stable=True)
    columns, _ = torch().sort(order[:, :count], dim=1)
    return columns.reshape(-1)
