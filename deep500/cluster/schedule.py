"""What every rank has to do: operations that send, receive or compute, and which of them wait for which."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..errors import Deep500Error

SEND, RECV, CALC = 1, 2, 3
ANY = 0xFFFFFFFF  # a receive takes any source, or any tag
START = 1 << 31  # of an edge: its target waits for the start only
LARGEST = (1 << 48) - 1  # bytes, or nanoseconds of work
MOST_NODES = (1 << 32) - 2

# As struct Node and struct Rank in _schedule.h
NODE = np.dtype(
    [
        ("packed", "<u8"),  # size, cpu and nic
        ("peer", "<u4"),
        ("tag", "<u4"),
        ("state", "<u4"),  # the kind in the highest two bits
        ("first", "<u4"),  # of its edges, counted within its rank
    ]
)
RANK = np.dtype([("node", "<i8"), ("nodes", "<i8"), ("edge", "<i8"), ("edges", "<i8")])


class Operation(NamedTuple):
    """One operation; `after` are the operations of its rank that must have ended before, `behind` have begun."""

    kind: int
    size: int  # bytes, or nanoseconds of a calc
    peer: int = 0
    tag: int = 0
    cpu: int = 0
    nic: int = 0
    after: Sequence[int] = ()
    behind: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class MessageSchedule:
    """The operations of all ranks. A rank's nodes are neighbours, and so are its edges: see NODE and RANK."""

    nodes: np.ndarray
    edges: np.ndarray
    ranks: np.ndarray
    cpus: int = 1
    nics: int = 1
    wildcards: bool = False  # some receive takes any source or tag
    starts: bool = False  # some operation waits for the start of another one

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.ranks)

    @property
    def messages(self) -> int:
        return int(np.count_nonzero(kinds(self.nodes) == SEND))

    def of_rank(self, rank: int) -> np.ndarray:
        """The nodes of a rank."""
        row = self.ranks[rank]
        return self.nodes[row["node"] : row["node"] + row["nodes"]]

    def dependants(self, rank: int) -> list[list[tuple[int, bool]]]:
        """Of every operation of a rank, those that wait for it, and whether they wait for its start only."""
        row = self.ranks[rank]
        edges = self.edges[row["edge"] : row["edge"] + row["edges"]].tolist()
        starts = [*self.of_rank(rank)["first"].tolist(), len(edges)]
        waiting = []
        for first, end in pairwise(starts):
            own = [(edge & ~START, edge >= START) for edge in edges[first:end]]
            waiting.append(own)
        return waiting

    def operations(self, rank: int) -> Iterator[Operation]:
        """The operations of a rank, in the order of the schedule."""
        nodes = self.of_rank(rank).tolist()
        after: list[list[int]] = [[] for _ in nodes]
        behind: list[list[int]] = [[] for _ in nodes]
        for place, waiting in enumerate(self.dependants(rank)):
            for other, is_start in waiting:
                (behind if is_start else after)[other].append(place)
        for place, (packed, peer, tag, state, _) in enumerate(nodes):
            size, cpu, nic = packed & LARGEST, packed >> 48 & 255, packed >> 56
            own = after[place], behind[place]
            yield Operation(state >> 30, size, peer, tag, cpu, nic, *own)


def kinds(nodes: np.ndarray) -> np.ndarray:
    return nodes["state"] >> 30


def sizes(nodes: np.ndarray) -> np.ndarray:
    return nodes["packed"] & np.uint64(LARGEST)


class ScheduleBuilder:
    """Collects the operations of one rank after another."""

    def __init__(self) -> None:
        self._nodes: list[np.ndarray] = []
        self._edges: list[np.ndarray] = []
        self._ranks: list[tuple[int, int, int, int]] = []
        self._node_count = 0
        self._edge_count = 0
        self.cpus = 1
        self.nics = 1
        self.wildcards = False
        self.starts = False

    def add_rank(self, operations: Sequence[Operation]) -> None:
        """The operations of the next rank."""
        edges: list[list[int]] = [[] for _ in operations]
        for place, operation in enumerate(operations):
            for before in operation.after:
                edges[before].append(place)
            for before in operation.behind:
                edges[before].append(place | START)
                self.starts = True
        rows = []
        first = 0
        for operation, own in zip(operations, edges, strict=True):
            rows.append(_row(operation, first))
            first += len(own)
            self.cpus = max(self.cpus, operation.cpu + 1)
            self.nics = max(self.nics, operation.nic + 1)
            is_any = ANY in (operation.peer, operation.tag)
            self.wildcards |= operation.kind == RECV and is_any
        flat = [edge for own in edges for edge in own]
        self.add_arrays(np.array(rows, NODE), np.array(flat, np.uint32))

    def add_arrays(self, nodes: np.ndarray, edges: np.ndarray) -> None:
        """The same as arrays, as a MessageSchedule holds them."""
        row = self._node_count, len(nodes), self._edge_count, len(edges)
        self._ranks.append(row)
        self._nodes.append(nodes)
        self._edges.append(edges)
        self._node_count += len(nodes)
        self._edge_count += len(edges)
        if self._node_count > MOST_NODES:
            raise Deep500Error(
                f"a schedule of more than {MOST_NODES} operations cannot be simulated: take fewer ranks or steps"
            )

    def schedule(self) -> MessageSchedule:
        return MessageSchedule(
            np.concatenate([*self._nodes, np.empty(0, NODE)]),
            np.concatenate([*self._edges, np.empty(0, np.uint32)]),
            np.array(self._ranks, RANK),
            self.cpus,
            self.nics,
            self.wildcards,
            self.starts,
        )


def _row(operation: Operation, first: int) -> tuple[int, int, int, int, int]:
    packed = operation.size | operation.cpu << 48 | operation.nic << 56
    return packed, operation.peer, operation.tag, operation.kind << 30, first


def schedule_of(programs: Sequence[Sequence[Operation]]) -> MessageSchedule:
    """The schedule of these operations by rank."""
    builder = ScheduleBuilder()
    for operations in programs:
        builder.add_rank(operations)
    return builder.schedule()
