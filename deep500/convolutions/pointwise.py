from ..contracts.convolution import ConvolutionProblem
from . import _native
from ._sums import SumOfProducts


class Pointwise(SumOfProducts):
    """A 1 x 1 convolution as a product of filters and pixels, image by image; any stride and group."""

    def own_refusal(self, problem: ConvolutionProblem, direction: str) -> str | None:
        if problem.kernel != (1, 1):
            return f"its kernel is 1 x 1, and this one is {problem.kernel[0]} x {problem.kernel[1]}"
        return None

    def kernel(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int, int]:
        return _native.DIRECT, 0, 0
