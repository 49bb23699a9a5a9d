from ..contracts.convolution import ConvolutionProblem
from . import _native
from ._fourier import Fourier, fitting
from ._tiles import Tiling, extents_of


class Fft(Fourier):
    """Whole planes in the frequency domain; stride 1. It holds the spectra of all images and filters at once."""

    def tile(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int] | None:
        result = Tiling.of(problem, direction, extents_of(problem)).result
        extents = extents_of(problem)
        rows = fitting(result[0] + extents[0] - 1)
        columns = fitting(result[1] + extents[1] - 1)
        if rows is None or columns is None:
            return None
        return rows, columns

    def kernel(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int, int]:
        rows, columns = self.tiling(problem, direction).size
        return _native.FFT, rows, columns
