"""Tiles of planes for the bounds of algorithms that transform tiles."""

from dataclasses import dataclass

import numpy as np

from ..contracts.convolution import ConvolutionProblem


@dataclass(frozen=True)
class Tiling:
    """How results of `step` elements each are made from tiles of `size`; a data gradient is seen as a forward.

    height and width are those of the results (of dy for a filter gradient), top and left the pads.
    """

    batch: int
    groups: int
    channels: int  # of one group
    filters: int
    size: tuple[int, int]
    step: tuple[int, int]
    result: tuple[int, int]
    top: int
    left: int

    @classmethod
    def of(
        cls, problem: ConvolutionProblem, direction: str, size: tuple[int, int]
    ) -> "Tiling":
        extents = extents_of(problem)
        step = (size[0] - extents[0] + 1, size[1] - extents[1] + 1)
        channels = problem.channels // problem.groups
        filters = problem.filters // problem.groups
        top, left = problem.pads[:2]
        result = problem.out_shape[2:]
        if direction == "data":
            channels, filters = filters, channels
            top, left = extents[0] - 1 - top, extents[1] - 1 - left
            result = (problem.height, problem.width)
        return cls(
            problem.batch,
            problem.groups,
            channels,
            filters,
            size,
            step,
            (result[0], result[1]),
            top,
            left,
        )

    @property
    def counts(self) -> tuple[int, int]:
        """How many tiles there are on each axis."""
        return (
            -(-self.result[0] // self.step[0]),
            -(-self.result[1] // self.step[1]),
        )

    @property
    def tiles(self) -> int:
        """In all images."""
        return self.batch * self.counts[0] * self.counts[1]

    def operations(self, product: int, tile: int, filters: int, results: int) -> int:
        """All operations, from those of one product, one tile, one filter and one tile of results."""
        pairs = self.channels * self.filters
        of_tiles = self.channels * tile + self.filters * results + pairs * product
        return self.groups * (self.tiles * of_tiles + pairs * filters)


def extents_of(problem: ConvolutionProblem) -> tuple[int, int]:
    """How many rows and columns the taps of a kernel span."""
    (rows, columns), (down, across) = problem.kernel, problem.dilations
    return (rows - 1) * down + 1, (columns - 1) * across + 1


def depth(tiling: Tiling, direction: str) -> int:
    """How many additions are behind an element, nearly: the sum between the transforms, and these."""
    terms = tiling.tiles if direction == "filter" else tiling.channels
    return terms + 2 * (tiling.size[0] + tiling.size[1])


def forward_form(
    problem: ConvolutionProblem, direction: str, a: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The input, and the filters as [group, filter, channel, row, column], turned for a data gradient."""
    shape = problem.filter_shape
    grouped = w.reshape(problem.groups, -1, *shape[1:])
    if direction == "data":
        grouped = grouped.swapaxes(1, 2)[..., ::-1, ::-1]
    return a, grouped


def input_tiles(tiling: Tiling, x: np.ndarray) -> np.ndarray:
    """[image, group, channel, row of tiles, column of tiles, row, column], overlapping."""
    (down, across), (rows, columns) = tiling.counts, tiling.size
    height = (down - 1) * tiling.step[0] + rows
    width = (across - 1) * tiling.step[1] + columns
    framed = framed_at(x, -tiling.top, -tiling.left, height, width)
    windows = np.lib.stride_tricks.sliding_window_view(framed, tiling.size, axis=(2, 3))
    tiles = windows[:, :, :: tiling.step[0], :: tiling.step[1]]
    return tiles.reshape(tiling.batch, tiling.groups, -1, *tiles.shape[2:])


def gradient_tiles(tiling: Tiling, dy: np.ndarray) -> np.ndarray:
    """The same of dy, side by side."""
    (down, across), (rows, columns) = tiling.counts, tiling.step
    framed = framed_at(dy, 0, 0, down * rows, across * columns)
    tiles = framed.reshape(tiling.batch, tiling.groups, -1, down, rows, across, columns)
    return tiles.swapaxes(4, 5)


def untiled(
    problem: ConvolutionProblem, tiling: Tiling, tiles: np.ndarray
) -> np.ndarray:
    """Planes from [image, group, channel, row of tiles, column of tiles, row, column]."""
    whole = tiles.swapaxes(4, 5)
    down, rows, across, columns = whole.shape[3:]
    planes = whole.reshape(tiling.batch, -1, down * rows, across * columns)
    return planes[:, :, : tiling.result[0], : tiling.result[1]]


def framed_at(
    x: np.ndarray, first_row: int, first_column: int, height: int, width: int
) -> np.ndarray:
    """Part of planes of the given size, zeros where it lies outside of them."""
    framed = np.zeros((*x.shape[:2], height, width), x.dtype)
    rows = _overlap(first_row, height, x.shape[2])
    columns = _overlap(first_column, width, x.shape[3])
    target = framed[
        :,
        :,
        rows.start - first_row : rows.stop - first_row,
        columns.start - first_column : columns.stop - first_column,
    ]
    target[...] = x[:, :, rows, columns]
    return framed


def _overlap(first: int, count: int, size: int) -> slice:
    start = min(max(first, 0), size)
    stop = max(start, min(first + count, size))
    return slice(start, stop)
