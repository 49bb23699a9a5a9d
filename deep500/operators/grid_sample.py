import math
from typing import Any, Literal

from ..contracts.operator import Operator, TensorSpec, case
from ._sampling import (
    coordinate_gradients,
    corners,
    cubic_taps,
    inside,
    linear_taps,
    nearest_taps,
    read,
    read_adjoint,
)

TAPS = {"nearest": nearest_taps, "linear": linear_taps, "cubic": cubic_taps}
PADDING = ("zeros", "border", "reflection")


class GridSample(Operator):
    """x read at the points of a grid, whose coordinates go from -1 to 1 across x and name the last axis first.

    Beyond the borders there are zeros, the last element (border), or x mirrored (reflection).
    """

    since = 20
    align_corners: int = 0
    mode: Literal["linear", "nearest", "cubic"] = "linear"
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros"

    def forward(self, xp, x, grid):
        y = read(xp, x, self._corners(xp, x, grid)[0])
        return xp.reshape(y, (*x.shape[:2], *grid.shape[1:-1]))

    def backward(self, xp, dy, x, grid):
        at, moves = self._corners(xp, x, grid)
        flat = xp.reshape(dy, (*dy.shape[:2], math.prod(dy.shape[2:])))
        by_axis = [g * m for g, m in zip(coordinate_gradients(xp, flat, x, at), moves, strict=True)]
        dgrid = xp.reshape(xp.stack(by_axis[::-1], axis=-1), grid.shape)
        return read_adjoint(xp, flat, x, at), dgrid

    def native(self, framework):
        """PyTorch's cubic sampling knows two axes only, and other borders."""
        return (
            None if framework == "pytorch" and self.mode == "cubic" else super().native(framework)
        )

    def pytorch(self, torch, x, grid):
        line = x.ndim == 3  # as a picture one element high
        if line:
            x, grid = x[:, :, None], torch.nn.functional.pad(grid[:, None], (0, 1))
        mode = {"linear": "bilinear"}.get(self.mode, self.mode)
        y = torch.nn.functional.grid_sample(
            x, grid, mode, self.padding_mode, bool(self.align_corners)
        )
        return y[:, :, 0] if line else y

    def infer(self, x, grid):
        return (TensorSpec((*x.shape[:2], *grid.shape[1:-1]), x.dtype),)

    def flops(self, x, grid):
        """A product and a sum for every neighbour."""
        taps = {"nearest": 0, "linear": 2, "cubic": 4}[self.mode]
        return 2 * self.infer(x, grid)[0].size * taps ** grid.shape[-1]

    def _corners(self, xp, x, grid):
        """The neighbours of every point, and how far its coordinates move along each axis as the grid's do."""
        sizes, count = x.shape[2:], math.prod(grid.shape[1:-1])
        taps = TAPS[self.mode]
        axes, moves = [], []
        for k, size in enumerate(sizes):
            at, move = self._coordinate(
                xp, xp.reshape(grid[..., len(sizes) - 1 - k], (x.shape[0], count)), size
            )
            axes.append(taps(xp, at, size, self._element))
            moves.append(move)
        return corners(xp, axes, sizes), moves

    def _coordinate(self, xp, at, size):
        """Counted in elements and brought inside, with its derivative."""
        move = (size - 1) / 2 if self.align_corners else size / 2
        at = (at + 1) * move - (0 if self.align_corners else 0.5)
        if self.mode == "nearest":
            at = _round(xp, at)
        low, high = self._borders(size)
        if self.padding_mode == "border":
            beyond = (at < low) | (at > high)
            return xp.where(beyond, xp.clip(at, 0, size - 1), at), xp.where(
                beyond, 0, xp.ones_like(at)
            ) * move
        if self.padding_mode == "reflection":
            mirrored, sign = _reflected(xp, at, low, high)
            return mirrored, sign * move
        return at, move

    def _element(self, xp, place, size):
        """The element that stands at a whole place, and how much it counts."""
        if self.padding_mode == "zeros":
            return inside(xp, place, size)
        if self.padding_mode == "reflection":
            place = _reflected(xp, place, *self._borders(size))[0]
        return xp.clip(place, 0, size - 1), 1

    def _borders(self, size):
        return (0, size - 1) if self.align_corners else (-0.5, size - 0.5)

    cases = (
        case(x=(2, 2, 3, 4), grid=(2, 2, 3, 2)),
        case({"align_corners": 1, "padding_mode": "border"}, x=(1, 2, 3, 4), grid=(1, 3, 3, 2)),
        case({"padding_mode": "reflection"}, x=(1, 1, 3, 4), grid=(1, 2, 4, 2)),
        case(
            {"mode": "nearest", "padding_mode": "reflection", "align_corners": 1},
            x=(1, 2, 3, 2),
            grid=(1, 3, 2, 2),
        ),
        case({"mode": "cubic"}, x=(1, 2, 4, 5), grid=(1, 2, 3, 2)),
        case({"mode": "linear"}, x=(1, 1, 2, 3, 4), grid=(1, 2, 2, 2, 3)),
    )


class GridSample_16(GridSample):
    """Of opsets 16 to 19, with other names of the modes."""

    since = 16
    mode: Literal["bilinear", "nearest", "bicubic"] = "bilinear"  # type: ignore[assignment]

    def forward(self, xp, x, grid):
        return self._new().forward(xp, x, grid)

    def backward(self, xp, dy, x, grid):
        return self._new().backward(xp, dy, x, grid)

    def native(self, framework):
        return self._new().native(framework)

    def flops(self, x, grid):
        return self._new().flops(x, grid)

    def _new(self):
        modes: Any = {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}
        return GridSample(self.align_corners, modes[self.mode], self.padding_mode)


def _reflected(xp, at, low, high):
    """Mirrored at both borders until it is between them, and 1 or -1: whether it still moves the same way."""
    span = high - low
    if not span:
        return xp.zeros_like(at) + low, xp.zeros_like(at)
    along = xp.abs(at - low)
    along = along - 2 * span * xp.floor(along / (2 * span))
    return low + span - xp.abs(along - span), xp.sign(at - low) * xp.sign(span - along)


def _round(xp, x):
    """To the nearest whole number, to the even one of two."""
    low = xp.floor(x)
    rest, odd = x - low, low - 2 * xp.floor(low / 2)
    return low + xp.where(rest == 0.5, odd, xp.astype(rest > 0.5, x.dtype))
