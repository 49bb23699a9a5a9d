"""A grid of ranks: a reduce-scatter within rows, an allreduce within columns, and an allgather within rows."""

import numpy as np

from ..contracts.collective import Collective
from ..contracts.collective_cost import CollectiveCost, piece_lengths
from ..contracts.topology import grid_rows
from ..contracts.transport import Program, ReduceOp
from ._groups import among
from .ring import Ring


class Grid(Collective):
    """As few bytes as a ring, in 2 (rows + columns) rounds: where a row is a machine, 1 / columns of them leave it.

    `rows` must divide the number of ranks; by default it is its largest divisor up to the root.
    """

    rows: int | None = None

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        columns = size // grid_rows("grid", self.rows, size)
        ring = Ring(tag=self.tag)
        row, column = divmod(rank, columns)
        in_row = range(row * columns, (row + 1) * columns)
        in_column = range(column, size, columns)
        scattered = ring.reduce_scatter(column, columns, array, op)
        piece = yield from among(in_row, scattered)
        reduced = ring.all_reduce(row, len(in_column), piece, op)
        yield from among(in_column, reduced)
        yield from among(in_row, ring.all_gather(column, columns, array))

    def all_reduce_cost(self, size: int, count: int, gamma: float) -> CollectiveCost:
        rows = grid_rows("grid", self.rows, size)
        columns = size // rows
        ring = Ring()
        lengths = piece_lengths(count, columns)
        down = ring.cost("all_reduce", rows, lengths[0], gamma)
        scattered = ring.cost("reduce_scatter", columns, count, gamma)
        gathered = ring.cost("all_gather", columns, count, gamma)
        cost = scattered.then(down).then(gathered)
        sent = []
        for column, length in enumerate(lengths):
            # a rank keeps its own piece for itself, and then does not send that of its neighbour
            unsent = length + lengths[(column + 1) % columns]
            within = ring.cost("all_reduce", rows, length, gamma).bytes
            sent.append((2 * count - unsent) * gamma * (columns > 1) + within)
        return CollectiveCost(
            messages=cost.messages,
            bytes=max(sent),
            # the last message of a row is still there when the column begins
            memory=scattered.memory + down.memory,
            rounds=cost.rounds,
            reduced=cost.reduced,
            exchanges=cost.exchanges,
            exchanged=cost.exchanged,
        )

    def check(self, size: int) -> None:
        grid_rows("grid", self.rows, size)
