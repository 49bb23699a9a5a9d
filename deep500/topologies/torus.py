"""A two-dimensional torus: the ranks as a grid whose ends meet."""

from ..contracts.topology import Topology, distinct, grid_rows


class Torus(Topology):
    """Four neighbors (fewer where a side has one or two ranks).

    `rows` is the number of rows of the grid; by default the largest divisor of the number of ranks up to its root.
    """

    rows: int | None = None

    def check(self, size: int) -> None:
        grid_rows("torus", self.rows, size)

    def neighbors(self, rank: int, size: int) -> tuple[int, ...]:
        rows = grid_rows("torus", self.rows, size)
        columns = size // rows
        row, column = divmod(rank, columns)
        above = (row - 1) % rows * columns + column
        below = (row + 1) % rows * columns + column
        left = row * columns + (column - 1) % columns
        right = row * columns + (column + 1) % columns
        return distinct(rank, [above, below, left, right])
