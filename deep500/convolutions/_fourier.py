"""What both Fourier convolutions share: tiles whose spectra are multiplied."""

import math
from abc import abstractmethod
from functools import cache
from typing import ClassVar

import numpy as np

from ..contracts.convolution import ConvolutionProblem
from ._kernel import Kernel
from ._sums import bound_of
from ._tiles import (
    Tiling,
    depth,
    extents_of,
    forward_form,
    gradient_tiles,
    input_tiles,
    untiled,
)

SIZES = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class Fourier(Kernel):
    """Spectra of tiles times conjugate spectra of filters, summed over channels, transformed back.

    A subclass says how large its tiles are: `tile(problem, direction)`, and at most.
    """

    largest: ClassVar[int] = SIZES[-1]

    @property
    def spreads(self) -> bool:
        return True

    @abstractmethod
    def tile(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int] | None: ...

    def own_refusal(self, problem: ConvolutionProblem, direction: str) -> str | None:
        if problem.strides != (1, 1):
            down, right = problem.strides
            return f"its stride is 1, and this one is {down} x {right}"
        if self.tile(problem, direction) is None:
            rows, columns = extents_of(problem)
            return (
                f"its tiles have at most {self.largest} elements on an axis, and a kernel that spans "
                f"{rows} x {columns} needs more here"
            )
        return None

    def tiling(self, problem: ConvolutionProblem, direction: str) -> Tiling:
        size = self.tile(problem, direction)
        assert size is not None
        return Tiling.of(problem, direction, size)

    def operations(self, problem: ConvolutionProblem, direction: str) -> int:
        tiling = self.tiling(problem, direction)
        rows, _ = extents_of(problem)
        whole, step = tiling.size, tiling.step
        positions = math.prod(whole)
        product = 4 * positions - 8
        tile = real_operations(whole, whole[0])
        filters = real_operations(whole, rows)
        results = real_operations(whole, step[0])
        return tiling.operations(product, tile, filters, results)

    def bound(
        self, problem: ConvolutionProblem, direction: str, a: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        """Rounding in a transform moves all elements of a tile by as much."""
        tiling = self.tiling(problem, direction)
        a, b = a.astype(np.float64), b.astype(np.float64)
        if direction == "filter":
            tiles, slopes = input_tiles(tiling, a), gradient_tiles(tiling, b)
            pattern, spectra = "ngctu,ngktu->gkc", "ngctuij,ngktuij->gkcij"
        else:
            x, slopes = forward_form(problem, direction, a, b)
            tiles = input_tiles(tiling, x)
            pattern, spectra = "ngctu,gkc->ngktu", "ngctuij,gkcij->ngktuij"
            slopes = _spread_taps(problem, tiling, slopes)
        energy = np.einsum(pattern, _norms(tiles), _norms(slopes), optimize=True)
        transformed = [
            np.fft.fft2(tiles, tiling.size),
            np.conj(np.fft.fft2(slopes, tiling.size)),
        ]
        sums = np.einsum(spectra, *transformed, optimize=True)
        positions = math.prod(tiling.size)
        mean = (2 * energy + _norms(sums) / positions) / positions
        return self._on_elements(problem, tiling, direction, mean)

    def _on_elements(
        self,
        problem: ConvolutionProblem,
        tiling: Tiling,
        direction: str,
        mean: np.ndarray,
    ) -> np.ndarray:
        """The bound of every element from the mean square of its tile."""
        stages = math.log2(math.prod(tiling.size))
        bounds = bound_of(
            depth(tiling, direction) + stages, mean[..., None, None], np.zeros(())
        )
        if direction == "filter":
            shape = problem.filter_shape
            return np.broadcast_to(bounds.reshape(*shape[:2], 1, 1), shape).copy()
        whole = np.broadcast_to(bounds, (*bounds.shape[:-2], *tiling.step))
        return untiled(problem, tiling, whole)


def _norms(tiles: np.ndarray) -> np.ndarray:
    """The sum of the squares of every tile."""
    return np.sum(np.square(np.abs(tiles)), axis=(-2, -1))


def _spread_taps(
    problem: ConvolutionProblem, tiling: Tiling, filters: np.ndarray
) -> np.ndarray:
    """Filters with zeros between their taps."""
    rows, columns = extents_of(problem)
    spread = np.zeros((*filters.shape[:-2], rows, columns))
    spread[..., :: problem.dilations[0], :: problem.dilations[1]] = filters
    return spread


def fitting(least: int) -> int | None:
    """The smallest size of a transform that holds so many elements."""
    return next((size for size in SIZES if size >= least), None)


def real_operations(size: tuple[int, int], rows: int) -> int:
    """The operations of a real transform of a tile of which only the first `rows` are not 0."""
    height, width = size
    pairs = -(-rows // 2)
    apart = 6 * (width // 2 + 1)  # two rows from one complex transform
    columns = height // 2 * 6
    return (
        pairs * (complex_operations(width) + apart)
        + width // 2 * complex_operations(height)
        + columns
    )


@cache
def complex_operations(size: int) -> int:
    """Additions and multiplications of fft.h."""
    if size == 1:
        return 0
    if size % 3 == 0:
        part, each, parts = size // 3, 6 * 2 + 18, 3
    elif size % 4 == 0:
        part, each, parts = size // 4, 16 + (6 * 3 if size > 4 else 0), 4
    else:
        part, each, parts = size // 2, 6 + 4, 2
    return parts * complex_operations(part) + part * each
