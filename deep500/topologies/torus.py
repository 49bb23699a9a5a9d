"""A two-dimensional torus: the ranks as a grid whose ends meet."""

import math

from ..contracts.topology import Topology, distinct
from ..errors import Deep500Error


class Torus(Topology):
    """Four neighbors (fewer where a side has one or two ranks).

    `rows` is the number of rows of the grid; by default the largest divisor of the number of ranks up to its root.
    """

    rows: int | None = None

    def check(self, size: int) -> None:
        if self.rows is not None and (self.rows < 1 or size % self.rows):
            raise Deep500Error(
                f"a torus with {self.rows} rows cannot hold {size} ranks: give a divisor of {size}, "
                "or leave `rows` out"
            )

    def neighbors(self, rank: int, size: int) -> tuple[int, ...]:
        self.check(size)
        rows = self.rows or _squarest(size)
        columns = size // rows
        row, column = divmod(rank, columns)
        above = (row - 1) % rows * columns + column
        below = (row + 1) % rows * columns + column
        left = row * columns + (column - 1) % columns
        right = row * columns + (column + 1) % columns
        return distinct(rank, [above, below, left, right])


def _squarest(size: int) -> int:
    """The largest divisor that is not above the root."""
    rows = math.isqrt(size)
    while size % rows:
        rows -= 1
    return rows
