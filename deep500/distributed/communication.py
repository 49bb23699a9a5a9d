"""The ranks of a launcher, as ordinary calls: for optimizers and scripts that are not written as programs."""

import os
from collections.abc import Callable, Generator, Mapping
from typing import Any, get_args

import numpy as np

from .. import registry
from ..canonical import shown
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
from ..errors import Deep500Error, unknown
from .uncaught import report_in_one_line

MPI_LAUNCHERS = (
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK",
)
TORCH_LAUNCHERS = ("RANK", "WORLD_SIZE", "MASTER_ADDR")
TRANSPORTS = ("mpi", "torch")


def launched_by(environment: Mapping[str, str] | None = None) -> str | None:
    """The transport of the launcher that started this process: "torch", "mpi", or None for a process of its own."""
    variables = os.environ if environment is None else environment
    if all(name in variables for name in TORCH_LAUNCHERS):
        return "torch"
    if any(name in variables for name in MPI_LAUNCHERS):
        return "mpi"
    if int(variables.get("SLURM_NTASKS", "1")) > 1 and "SLURM_PROCID" in variables:
        return "mpi"
    return None


def check_launcher(
    transport: str, environment: Mapping[str, str] | None = None
) -> None:
    """Refuse ranks that one launcher has started for a transport of another, and ranks that two have started."""
    variables = os.environ if environment is None else environment
    launcher = launched_by(variables)
    if launcher is not None and transport != launcher:
        others = {"torch": "mpiexec or srun", "mpi": "torchrun"}
        raise Deep500Error(
            f"this rank was started for the transport {launcher}, and {transport} is asked for: leave --transport "
            f"out, or start the ranks with {others[launcher]} instead"
        )
    processes = variables.get("PMI_SIZE", variables.get("OMPI_COMM_WORLD_SIZE"))
    if launcher != "torch" or processes is None:
        return
    # one torchrun for each of MPI's processes is one world, if they know of each other
    agents = variables.get("GROUP_WORLD_SIZE", "1")
    if agents != processes:
        raise Deep500Error(
            f"mpiexec has started {processes} processes and torchrun ranks in each of them, which do not know of each "
            "other: start the ranks with one of the two"
        )


def launched_rank(environment: Mapping[str, str] | None = None) -> int:
    """The number of this process among those that were launched with it, without starting a transport."""
    variables = os.environ if environment is None else environment
    for name in ("RANK", *MPI_LAUNCHERS, "SLURM_PROCID"):
        if name in variables:
            return int(variables[name])
    return 0


def is_first_process(environment: Mapping[str, str] | None = None) -> bool:
    """Whether this process is number 0 of every launcher that started it, so that it speaks for all."""
    variables = os.environ if environment is None else environment
    numbers = [variables.get(name, "0") for name in ("RANK", *MPI_LAUNCHERS)]
    return {*numbers} == {"0"}


_transports: dict[str, Any] = {}  # of this process, by name


def process_transport(name: str, deadline: float = DEADLINE) -> Transport:
    """The transport of this process, which exists once."""
    if name not in TRANSPORTS:
        raise unknown("transport with processes", name, TRANSPORTS)
    check_launcher(name)
    if name not in _transports:
        transport_class = registry.named("transports", name)
        _transports[name] = transport_class(deadline=deadline)
    return _transports[name]


def break_transports(error: BaseException) -> bool:
    """Give up: the other ranks are told why, and MPI's end with this process; whether this rank reports it."""
    for transport in _transports.values():
        transport.fail(error)
    return all(transport.reports for transport in _transports.values())


def communication(
    transport: str | None = None, deadline: float = DEADLINE
) -> "Communication":
    """The ranks that a launcher (mpiexec, torchrun, srun) started; a single rank without one."""
    name = transport or launched_by()
    if name is None:
        return Communication(0, 1, _run_alone)
    is_new = name not in _transports
    engine = process_transport(name, deadline)
    if is_new:
        report_in_one_line(lambda: _transports[name].reports)
    [rank] = engine.ranks

    def run(program: Program) -> Any:
        return engine.run(lambda _: program)[rank]

    return Communication(rank, engine.size, run)


class Communication:
    """One rank among others. Arrays are NumPy's, or tensors that NumPy can read; results are new NumPy arrays."""

    def __init__(self, rank: int, size: int, run: Callable[[Program], Any]):
        self.rank = rank
        self.size = size
        self._run = run

    def run(self, program: Program) -> Any:
        """Carry a program out, and return its value."""
        if not isinstance(program, Generator):
            raise Deep500Error(
                f"{shown(program)} is no program: give a generator of communication steps, which a call of a "
                "function with `yield` returns"
            )
        return self._run(program)

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
        if op not in get_args(ReduceOp):
            choices = ", ".join(get_args(ReduceOp))
            raise Deep500Error(f"op={op!r:.60}: give one of {choices}")
        return self._run_on_copy(array, lambda copy: all_reduce(copy, op))

    def broadcast(self, array: Any, root: int = 0) -> np.ndarray:
        """The root's array."""
        if root not in range(self.size):
            raise Deep500Error(
                f"root={root!r:.60}: give a rank from 0 to {self.size - 1}"
            )
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
    try:
        copy = np.asarray(array).copy(order="C")
    except (TypeError, ValueError):  # rows of different lengths, among others
        raise _no_numbers(array) from None
    if copy.dtype.kind in "OSUMm":
        raise _no_numbers(array)
    return copy


def _no_numbers(value: Any) -> Deep500Error:
    return Deep500Error(
        f"{shown(value)} is no array of numbers: give one of NumPy, or a tensor"
    )
