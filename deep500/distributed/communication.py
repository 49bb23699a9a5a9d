"""The ranks of a launcher, as ordinary calls: for optimizers and scripts that are not written as programs."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import registry
from ..contracts.transport import (
    DEADLINE,
    Program,
    Recv,
    ReduceOp,
    Send,
    Transport,
    Wait,
    all_gather,
    all_reduce,
    barrier,
    broadcast,
)
from ..errors import unknown

MPI_LAUNCHERS = (
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK",
)
TORCH_LAUNCHERS = ("RANK", "WORLD_SIZE", "MASTER_ADDR")
TRANSPORTS = ("mpi", "torch")


def launched_by(environment: dict[str, str] | None = None) -> str | None:
    """The transport of the launcher that started this process: "torch", "mpi", or None for a process of its own."""
    variables = os.environ if environment is None else environment
    if all(name in variables for name in TORCH_LAUNCHERS):
        return "torch"
    if any(name in variables for name in MPI_LAUNCHERS):
        return "mpi"
    if (
        int(variables.get("SLURM_NTASKS", "1")) > 1
        and "SLURM_PROCID" in variables
    ):
        return "mpi"
    return None


def launched_rank(environment: dict[str, str] | None = None) -> int:
    """The number of this process among those that were launched with it, without starting a transport."""
    variables = os.environ if environment is None else environment
    for name in ("RANK", *MPI_LAUNCHERS, "SLURM_PROCID"):
        if name in variables:
            return int(variables[name])
    return 0


_transports: dict[str, Any] = {}  # of this process, by name


def process_transport(name: str, deadline: float = DEADLINE) -> Transport:
    """The transport of this process, which exists once."""
    if name not in TRANSPORTS:
        raise unknown("transport with processes", name, TRANSPORTS)
    if name not in _transports:
        transport_class = registry.named("transports", name)
        _transports[name] = transport_class(deadline=deadline)
    return _transports[name]


def break_transports() -> None:
    """Give up: at the end of this process, the other ranks are told, or ended."""
    for transport in _transports.values():
        transport.broken = True


def communication(
    transport: str | None = None, deadline: float = DEADLINE
) -> "Communication":
    """The ranks that a launcher (mpiexec, torchrun, srun) started; a single rank without one."""
    name = transport or launched_by()
    if name is None:
        return Communication(0, 1, _run_alone)
    engine = process_transport(name, deadline)
    [rank] = engine.ranks

    def run(program: Program) -> Any:
        return engine.run(lambda _: program)[rank]

    return Communication(rank, engine.size, run)


class Communication:
    """One rank among others. Arrays are NumPy's, or tensors that NumPy can read; results are new NumPy arrays."""

    def __init__(self, rank: int, size: int, run: Callable[[Program], Any]):
        self.rank = rank
        self.size = size
        self.run = run  # carries a program out and returns its value

    def reduce_from_neighbors(self, array: Any) -> np.ndarray:
        """The sum of this rank's array and of both neighbours' on the ring of all ranks.

        Two ranks are each other's neighbour on both sides, and one rank is its own: the sum has three terms always.
        """
        copy = _copy(array)
        if self.size == 1:
            return copy * 3
        return self.run(neighbor_sum(self.rank, self.size, copy))

    def all_reduce(self, array: Any, op: ReduceOp = "sum") -> np.ndarray:
        """The sum (maximum, minimum) over all ranks."""
        return self._run_on_copy(array, lambda copy: all_reduce(copy, op))

    def broadcast(self, array: Any, root: int = 0) -> np.ndarray:
        """The root's array."""
        return self._run_on_copy(array, lambda copy: broadcast(copy, root))

    def all_gather(self, array: Any) -> list[np.ndarray]:
        """The arrays of all ranks; those of one dimension may differ in length."""
        copy = _copy(array)
        if self.size == 1:
            return [copy]
        return self.run(all_gather(copy, uneven=copy.ndim == 1))

    def barrier(self) -> None:
        """Wait until every rank is here."""
        if self.size > 1:
            self.run(barrier())

    def _run_on_copy(
        self, array: Any, program: Callable[[np.ndarray], Program]
    ) -> np.ndarray:
        copy = _copy(array)
        if self.size > 1:
            self.run(program(copy))
        return copy


def neighbor_sum(rank: int, size: int, array: np.ndarray) -> Program:
    """This rank's array + the left + the right neighbour's, added in that order."""
    left = (rank - 1) % size
    right = (rank + 1) % size
    from_left, from_right = np.empty_like(array), np.empty_like(array)
    handles = []
    # what goes to the right has tag 0, what goes to the left tag 1: two ranks send both to each other
    steps = (
        Recv(left, from_left, 0),
        Recv(right, from_right, 1),
        Send(right, array, 0),
        Send(left, array, 1),
    )
    for step in steps:
        handle = yield step
        handles.append(handle)
    yield Wait(handles)
    return array + from_left + from_right


def _run_alone(program: Program) -> Any:
    from ..transports.virtual import Virtual

    return Virtual(1).run(lambda _: program)[0]


def _copy(array: Any) -> np.ndarray:
    """A NumPy array of our own, with its elements in order."""
    if hasattr(array, "detach"):
        array = array.detach()
    return np.asarray(array).copy(order="C")
