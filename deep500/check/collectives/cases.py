"""One operation of a collective on so many virtual ranks: its inputs, its run, and what must come out."""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...contracts.collective import FUNCTIONS, Collective
from ...contracts.loggp import LogGP
from ...contracts.sparse_stream import SparseStream, stream_of
from ...contracts.topology import Topology
from ...contracts.transport import Program, ReduceOp
from ...errors import Deep500Error, Incomplete, place_of
from ...transports.virtual import Virtual

NETWORK = LogGP(L=3e-6, o=1e-6, g=2e-6, G=1e-9)
GUARDS = 8  # elements around an array, which nobody may touch
GUARD = 77
GIVING_ALL = ("all_reduce", "sparse_all_reduce")
MISSING = 0.7  # of the elements of a sparse stream
Arrays = list[np.ndarray]


@dataclass
class CaseOutcome:
    """What ranks have at the end: the arrays that count, by rank, and the buffers in which their own ones lie."""

    virtual: Virtual
    arrays: list[Arrays]
    buffers: list[np.ndarray]
    values: list[Any] = field(default_factory=list)

    @property
    def bits(self) -> list[bytes]:
        return [b"".join(a.tobytes() for a in arrays) for arrays in self.arrays]

    @property
    def uses_engine(self) -> bool:
        """Whether it calls collectives of the engine, whose messages nobody sees."""
        kinds: set[str] = set()
        for traffic in self.virtual.traffic.values():
            kinds |= traffic.messages.keys()
        return bool(kinds - {"Send", "Recv"})


@dataclass(frozen=True)
class CollectiveCase:
    """An operation on so many ranks, for arrays of so many elements; `data` is "small", "digits" or "normal"."""

    collective: Collective
    operation: str
    size: int
    count: int
    dtype: str = "float32"
    op: ReduceOp = "sum"
    data: str = "small"
    seed: int = 0

    def __str__(self) -> str:
        op = f" ({self.op})" if self.op != "sum" else ""
        elements = "1 element" if self.count == 1 else f"{self.count} elements"
        return f"{self.operation}{op}, P = {self.size}, {elements} of {self.dtype}"

    def input(self, rank: int) -> np.ndarray:
        """The array of a rank: small whole numbers; a digit of its own; or normal ones, with special values."""
        if self.data == "digits":
            return np.full(self.count, 8**rank, self.dtype)
        random = np.random.default_rng([self.seed, rank])
        if self.data == "small":
            array = random.integers(0, 6, self.count).astype(self.dtype)
        else:
            array = random.standard_normal(self.count).astype(self.dtype)
        if self.is_sparse:
            array[random.random(self.count) < MISSING] = 0
        elif self.data == "normal":
            array[::7] = random.choice([np.nan, -0.0, np.inf], len(array[::7]))
        return array

    @property
    def is_sparse(self) -> bool:
        return self.operation == "sparse_all_reduce"

    @property
    def is_lossy(self) -> bool:
        return self.operation in GIVING_ALL and self.collective.lossy

    def wanted(self) -> list[Arrays]:
        """The arrays that every rank must have; of a lossy sum, those that it has by itself."""
        if self.is_lossy:
            return self.run().arrays
        inputs = [self.input(rank) for rank in range(self.size)]
        if self.operation == "neighbor_all_gather":
            neighbors = [self._neighbors(rank) for rank in range(self.size)]
            return [[inputs[other] for other in others] for others in neighbors]
        if self.operation == "all_to_all":
            cut = [np.array_split(array, self.size) for array in inputs]
            return [[pieces[rank] for pieces in cut] for rank in range(self.size)]
        if self.operation == "all_gather":
            pieces = [np.array_split(inputs[r], self.size)[r] for r in range(self.size)]
            return [[np.concatenate(pieces)]] * self.size
        if self.operation == "broadcast":
            return [[inputs[self.root]]] * self.size
        reduced = FUNCTIONS[self.op].reduce(inputs, axis=0, dtype=self.dtype)
        if self.operation in ("all_reduce", "sparse_all_reduce"):
            return [[reduced]] * self.size
        return [[piece] for piece in np.array_split(reduced, self.size)]

    @property
    def root(self) -> int:
        return self.size // 2

    def run(self, **settings: Any) -> CaseOutcome:
        """Carry it out; the settings are those of the virtual ranks."""
        virtual = Virtual(self.size, NETWORK, **settings)
        outcome = self.blank(virtual)
        outcome.values = self._by_rank(
            virtual.run(lambda rank: self.program(rank, outcome))
        )
        return outcome

    def blank(self, virtual: Virtual) -> CaseOutcome:
        """What ranks have before the beginning."""
        buffers = []
        for rank in range(self.size):
            buffer = np.full(self.count + 2 * GUARDS, GUARD, self.dtype)
            buffer[GUARDS:-GUARDS] = self.input(rank)
            buffers.append(buffer)
        return CaseOutcome(virtual, [[] for _ in buffers], buffers)

    def program(self, rank: int, outcome: CaseOutcome) -> Program:
        """The program of one rank, which keeps the arrays that count in the outcome; the value is the operation's."""
        array = outcome.buffers[rank][GUARDS:-GUARDS]
        arrays = outcome.arrays[rank]
        if self.operation == "all_to_all":
            outgoing = np.array_split(array, self.size)
            arrays += [np.empty_like(outgoing[rank]) for _ in outgoing]
            return (yield from self._begun(rank, outgoing, arrays))
        if self.is_sparse:
            value = yield from self._begun(rank, stream_of(array))
        elif self.operation == "broadcast":
            value = yield from self._begun(rank, array, self.root)
        elif self.operation in ("all_reduce", "reduce_scatter"):
            value = yield from self._begun(rank, array, self.op)
        else:
            value = yield from self._begun(rank, array)
        arrays += self._found(rank, array, value)
        return value

    def _begun(self, rank: int, *arguments: Any) -> Program:
        operate: Any = getattr(self.collective, self.operation)
        program = operate(rank, self.size, *arguments)
        if not isinstance(program, Generator):
            raise Incomplete(
                f"{self._place} returned {program!r:.80}: write a program, which yields communication steps"
            )
        return program

    def _found(self, rank: int, array: np.ndarray, value: Any) -> Arrays:
        """The arrays that count: the one that was given, or those that the operation returned."""
        if self.operation == "reduce_scatter":
            if not isinstance(value, np.ndarray):
                raise Incomplete(
                    f"{self._place} returned {value!r:.80}: return a piece"
                )
            return [value]
        if self.is_sparse:
            if not isinstance(value, SparseStream):
                raise Incomplete(
                    f"{self._place} returned {value!r:.80}: return a SparseStream"
                )
            return [value.dense()]
        if self.operation != "neighbor_all_gather":
            return [array]
        neighbors = self._neighbors(rank)
        if not isinstance(value, dict) or sorted(value) != neighbors:
            raise Deep500Error(
                f"{self._place} returned {value!r:.80}: return the arrays of the ranks {neighbors} by rank"
            )
        return [value[other] for other in neighbors]

    @property
    def _place(self) -> str:
        return place_of(getattr(self.collective, self.operation))

    def _neighbors(self, rank: int) -> list[int]:
        topology = self.collective.settings.get("topology")
        if not isinstance(topology, Topology):
            raise Deep500Error(
                f"{self.collective} has no setting `topology`, which says who the neighbors are: add one to its class"
            )
        return sorted(topology.neighbors(rank, self.size))

    def _by_rank(self, values: dict[int, Any]) -> list[Any]:
        return [values.get(rank) for rank in range(self.size)]


def first_difference(found: Sequence[Arrays], wanted: Sequence[Arrays]) -> str:
    """The first array that is not what it must be, in words; empty if there is none."""
    for rank, (own, right) in enumerate(zip(found, wanted, strict=True)):
        for number, (array, other) in enumerate(zip(own, right, strict=True)):
            where = f"array {number} of rank {rank}" if len(own) > 1 else f"rank {rank}"
            if (array.shape, array.dtype) != (other.shape, other.dtype):
                return f"{where} has {_form(array)}, and {_form(other)} is right"
            wrong = np.flatnonzero(array != other)
            if wrong.size:
                place = int(wrong[0])
                return (
                    f"element {place} of {where} is {array[place]}, and {other[place]} is right "
                    f"({wrong.size} of {array.size} are wrong)"
                )
    return ""


def miscounted(total: float, size: int) -> str:
    """Which ranks a sum of digits has counted how often, if not each of them once."""
    if not math.isfinite(total) or total < 0:
        return f"the sum is {total}"
    digits = int(total)
    words = []
    for rank in range(size):
        times = digits % 8
        digits //= 8
        if times != 1:
            often = {0: "never", 2: "twice"}.get(times, f"{times} times")
            words.append(f"rank {rank} {often}")
    if digits:
        words.append("ranks that are not there")
    return ", ".join(words)


def _form(array: np.ndarray) -> str:
    return f"{array.dtype}{[*array.shape]}"
