from ..contracts.convolution import ConvolutionProblem
from . import _native
from ._sums import SumOfProducts


class Pointwise(SumOfProducts):
    """A 1 x 1 convolution as the matrix product that it is, a few pixels at a time; any stride and group."""

    def own_refusal(self, problem: ConvolutionProblem, direction: str) -> str | None:
        if problem.kernel != (1, 1):
            return f"its kernel is 1 x 1, and this one is {problem.kernel[0]} x {problem.kernel[1]}"
        return None

    def kernel(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int, int]:
        # the gradients of a direct convolution are products on the planes as they are
        if direction == "forward":
            return _native.IM2COL, 0, 0
        return _native.DIRECT, 0, 0
