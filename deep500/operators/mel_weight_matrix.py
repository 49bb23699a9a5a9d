import math

from ..contracts.operator import Operator, TensorSpec, case
from ._dtypes import dtype_of


class MelWeightMatrix(Operator):
    """How much each bin of a spectrum counts for each band of the mel scale: triangles that overlap by half."""

    since = 17
    output_datatype: int = 1

    def forward(  # type: ignore[no-untyped-def]
        self,
        xp,
        num_mel_bins: int,
        dft_length: int,
        sample_rate: int,
        lower_edge_hertz: float,
        upper_edge_hertz: float,
    ):
        low, high = (
            2595 * math.log10(1 + edge / 700) for edge in (lower_edge_hertz, upper_edge_hertz)
        )
        mels = [low + i * (high - low) / (num_mel_bins + 2) for i in range(num_mel_bins + 2)]
        edges = [
            int((dft_length + 1) * 700 * (10 ** (mel / 2595) - 1) // sample_rate) for mel in mels
        ]
        bands = [_triangle(dft_length // 2 + 1, *edges[i : i + 3]) for i in range(num_mel_bins)]
        rows = [list(row) for row in zip(*bands, strict=True)]
        return xp.asarray(rows, dtype_of(self.output_datatype))

    def infer(self, num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz):
        return (TensorSpec((dft_length // 2 + 1, num_mel_bins), dtype_of(self.output_datatype)),)

    cases = (
        case(
            num_mel_bins=4,
            dft_length=16,
            sample_rate=8192,
            lower_edge_hertz=0.0,
            upper_edge_hertz=4096.0,
        ),
        case(
            {"output_datatype": 11},
            num_mel_bins=3,
            dft_length=9,
            sample_rate=8000,
            lower_edge_hertz=100.0,
            upper_edge_hertz=3000.0,
        ),
    )


def _triangle(count, left, top, right):
    """From 0 at the left bin up to 1 at the top and down to 0 at the right one."""

    def height(i):
        if left <= i <= top and left < top:
            return (i - left) / (top - left)
        if top <= i < right:
            return (right - i) / (right - top)
        return 1.0 if i == top == left else 0.0

    return [height(i) for i in range(count)]
