from ..contracts.convolution import ConvolutionProblem
from . import _native
from ._sums import SumOfProducts


class Direct(SumOfProducts):
    """Sums of products over taps and channels, on padded input planes; any stride, dilation and group."""

    def kernel(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int, int]:
        return _native.DIRECT, 0, 0
