from ..contracts.convolution import ConvolutionProblem
from ..errors import Deep500Error
from . import _native
from ._sums import SumOfProducts


class Im2col(SumOfProducts):
    """The input patches as a matrix, times the filters; any stride, dilation and group.

    A forward holds the patches of `images` images at once; the gradients always go image by image.
    """

    images: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.images < 1:
            raise Deep500Error(
                f"images of Im2col is {self.images}: give a number from 1 on"
            )

    def kernel(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int, int]:
        return _native.IM2COL, min(self.images, problem.batch), 0
