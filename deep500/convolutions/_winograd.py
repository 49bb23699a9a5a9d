"""What the three sizes of Winograd's algorithm share: products of small transformed tiles."""

from typing import ClassVar

import numpy as np

from ..contracts.convolution import ConvolutionProblem
from . import _native
from ._cook_toom import Matrix, Transforms, operations, transforms
from ._kernel import Kernel
from ._sums import bound_of
from ._tiles import Tiling, depth, forward_form, gradient_tiles, input_tiles, untiled


class Winograd(Kernel):
    """y = Aᵀ [(G g Gᵀ) · (Bᵀ d B)] A for tiles d and filters g of 3 x 3, summed over channels between the brackets."""

    m: ClassVar[int]

    @property
    def spreads(self) -> bool:
        return True

    def own_refusal(self, problem: ConvolutionProblem, direction: str) -> str | None:
        if problem.kernel != (3, 3):
            return f"its kernel is 3 x 3, and this one is {problem.kernel[0]} x {problem.kernel[1]}"
        if problem.strides != (1, 1) or problem.dilations != (1, 1):
            (down, right), (lower, wider) = problem.strides, problem.dilations
            return (
                "its stride and dilation are 1, and this one has "
                f"stride {down} x {right} and dilation {lower} x {wider}"
            )
        return None

    def kernel(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int, int]:
        return _native.WINOGRAD, self.m, 0

    def tiling(self, problem: ConvolutionProblem, direction: str) -> Tiling:
        size = self.m + 2
        return Tiling.of(problem, direction, (size, size))

    def operations(self, problem: ConvolutionProblem, direction: str) -> int:
        tiling = self.tiling(problem, direction)
        matrices = transforms(self.m)
        size = self.m + 2
        both_sides = operations(matrices.input) * 2 * size
        filters = operations(matrices.filter) * (3 + size)
        results = operations(matrices.output, transposed=True) * (size + self.m)
        if direction == "filter":
            filters = operations(matrices.filter, transposed=True) * (3 + size)
            results = operations(matrices.output) * (size + self.m)
        return tiling.operations(2 * size**2, both_sides, filters, results)

    def bound(
        self, problem: ConvolutionProblem, direction: str, a: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        tiling = self.tiling(problem, direction)
        matrices = transforms(self.m)
        # what every rounding has to do with: the same sums, of squares
        energy = self._domain(problem, tiling, direction, a, b, matrices, squared=True)
        sums = self._domain(problem, tiling, direction, a, b, matrices, squared=False)
        back = matrices.filter if direction == "filter" else matrices.output
        left = np.square(_array(back)).T
        result = left @ (energy + np.square(sums)) @ left.T
        if direction != "filter":
            result = untiled(problem, tiling, result)
        else:
            result = result.reshape(problem.filter_shape)
        return bound_of(depth(tiling, direction), result, np.zeros(()))

    def _domain(
        self,
        problem: ConvolutionProblem,
        tiling: Tiling,
        direction: str,
        a: np.ndarray,
        b: np.ndarray,
        matrices: Transforms,
        squared: bool,
    ) -> np.ndarray:
        """The sums of products of transformed tiles, or those of squares by the squares of the matrices."""
        a, b = a.astype(np.float64), b.astype(np.float64)
        of_tiles, of_filters, of_results = map(
            _array, (matrices.input, matrices.filter, matrices.output)
        )
        if squared:
            a, b = np.square(a), np.square(b)
            of_tiles, of_filters, of_results = map(
                np.square, (of_tiles, of_filters, of_results)
            )
        if direction == "filter":
            tiles = of_tiles @ input_tiles(tiling, a) @ of_tiles.T
            slopes = of_results @ gradient_tiles(tiling, b) @ of_results.T
            return np.einsum("ngctuij,ngktuij->gkcij", tiles, slopes, optimize=True)
        x, w = forward_form(problem, direction, a, b)
        tiles = of_tiles @ input_tiles(tiling, x) @ of_tiles.T
        filters = of_filters @ w @ of_filters.T
        return np.einsum("ngctuij,gkcij->ngktuij", tiles, filters, optimize=True)


def _array(matrix: Matrix) -> np.ndarray:
    return np.array([[float(value) for value in row] for row in matrix])
