import math

from ..contracts.convolution import ConvolutionProblem
from . import _native
from ._fourier import Fourier, real_operations
from ._tiles import Tiling, extents_of

TILES = (8, 12, 16, 24, 32, 48, 64)
CACHED = 32  # twice the time of an operation was seen at about this size


class FftTiled(Fourier):
    """Tiles of planes in the frequency domain, as large as takes the fewest operations; stride 1."""

    largest = TILES[-1]

    def tile(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int] | None:
        extents = extents_of(problem)
        sizes = [size for size in TILES if size >= max(extents) + 1]
        if not sizes:
            return None
        costs = {size: self._cost(problem, direction, size) for size in sizes}
        best = min(sizes, key=costs.__getitem__)
        return best, best

    def _cost(self, problem: ConvolutionProblem, direction: str, size: int) -> float:
        """Operations, those of transforms twice; large tiles of many channels leave the cache."""
        tiling = Tiling.of(problem, direction, (size, size))
        transforms = 2 * real_operations(tiling.size, size)
        rows = extents_of(problem)[0]
        filters = 2 * real_operations(tiling.size, rows)
        product = 4 * math.prod(tiling.size)
        count = tiling.operations(product, transforms, filters, transforms)
        return count * (1 + (size / CACHED) ** 2)

    def kernel(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int, int]:
        rows, columns = self.tiling(problem, direction).size
        return _native.FFT_TILED, rows, columns
