"""GOAL files, text and binary, in and out: the schedules that LogGOPSim and ATLAHS read."""

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Deep500Error
from .engine import compiled
from .memory import check_memory
from .schedule import ANY, CALC, NODE, RANK, RECV, MessageSchedule, Operation

MAGIC = (4223).to_bytes(8, "little")
USED = (2342).to_bytes(8, "little")  # what LogGOPSim leaves of a file with --save-mem
HEADERS = ("_schedule.h",)
# The shortest that a file can say of a node, or of an edge, in bytes
BINARY_NODE, BINARY_EDGE = 39, 4
TEXT_NODE, TEXT_EDGE = len("calc 1\n"), len("a requires b\n")
STATEMENTS = 100_000  # read between two looks at Ctrl-C
RANKS = 2_000
Progress = Callable[[float, str], None]


def read_goal(path: Path | str, progress: Progress | None = None) -> MessageSchedule:
    """The schedule in a GOAL file; a Deep500Error names the line or the byte that is wrong."""
    path = Path(path)
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as error:
        raise Deep500Error(f"{path} cannot be read: {error.strerror}") from None
    if not size:
        raise Deep500Error(f"{path} is empty: give a GOAL file")
    if start == USED:
        raise Deep500Error(
            f"{path} was used up by LogGOPSim's --save-mem: write it again"
        )
    reader = _Binary if start == MAGIC else _Text
    return reader(path, size, progress).schedule()


class _GoalReader:
    """A file that is read in slices, so that Ctrl-C is heard."""

    node_bytes: int
    edge_bytes: int
    prefix: str

    def __init__(self, path: Path, size: int, progress: Progress | None):
        self.path = path
        self.size = size
        self.progress = progress
        self.file: Any = None

    def schedule(self) -> MessageSchedule:
        self.open()
        if not self.file:
            raise Deep500Error(f"{self.path} cannot be read")
        try:
            return self._read()
        finally:
            self.call("close")

    def _read(self) -> MessageSchedule:
        self._check()
        ranks = self.call("ranks")
        # so much at most; what no node touches is never paid for
        node_room = self.size // self.node_bytes + 1
        edge_room = self.size // self.edge_bytes + 1
        likely = self.likely_nodes()
        check_memory(str(self.path), ranks, likely, likely)
        nodes = np.empty(node_room, NODE)
        edges = np.empty(edge_room, np.uint32)
        rows = np.zeros(ranks, RANK)
        room = node_room, edge_room
        pointers = nodes.ctypes.data, room[0], edges.ctypes.data, room[1]
        counts = np.zeros(7, np.int64)
        for _ in self.slices(pointers, rows.ctypes.data):
            self.call("counts", counts.ctypes.data)
            if self.progress is not None:
                done = self.share(counts.tolist())
                self.progress(done, f"reading {self.path.name}")
        self._check()
        self.call("counts", counts.ctypes.data)
        _, cpus, nics, wildcards, starts, used_nodes, used_edges = counts.tolist()
        return MessageSchedule(
            nodes[:used_nodes],
            edges[:used_edges],
            rows,
            cpus,
            nics,
            bool(wildcards),
            bool(starts),
        )

    def call(self, name: str, *arguments: int) -> Any:
        function = getattr(self.library(), f"{self.prefix}_{name}")
        return function(self.file, *arguments)

    def _check(self) -> None:
        problem = self.call("problem").decode("utf-8", "replace")
        if problem:
            raise Deep500Error(f"{self.path}, {problem}")

    def likely_nodes(self) -> int:
        """About how many operations the file has."""
        raise NotImplementedError

    def open(self) -> None:
        raise NotImplementedError

    def library(self) -> Any:
        raise NotImplementedError

    def slices(self, pointers: tuple[int, ...], rows: int) -> Iterator[None]:
        raise NotImplementedError

    def share(self, counts: list[int]) -> float:
        raise NotImplementedError


class _Binary(_GoalReader):
    node_bytes, edge_bytes, prefix = BINARY_NODE, BINARY_EDGE, "goal"

    def library(self) -> Any:
        return binary_library()

    def open(self) -> None:
        self.file = self.library().goal_open(bytes(self.path), self.size)

    def likely_nodes(self) -> int:
        return self.size // (BINARY_NODE + BINARY_EDGE)

    def slices(self, pointers: tuple[int, ...], rows: int) -> Iterator[None]:
        while self.call("read", RANKS, *pointers, rows) == RANKS:
            yield

    def share(self, counts: list[int]) -> float:
        return min(1.0, counts[5] * (BINARY_NODE + BINARY_EDGE) / self.size)


class _Text(_GoalReader):
    node_bytes, edge_bytes, prefix = TEXT_NODE, TEXT_EDGE, "text"

    def library(self) -> Any:
        return text_library()

    def likely_nodes(self) -> int:
        # "l12: send 1024b to 17 tag 3", and "l12 requires l11"
        return self.size // 50

    def open(self) -> None:
        self.file = self.library().text_open(bytes(self.path))

    def slices(self, pointers: tuple[int, ...], rows: int) -> Iterator[None]:
        self.call("into", *pointers, rows)
        while self.call("read", STATEMENTS):
            yield

    def share(self, counts: list[int]) -> float:
        return min(1.0, (counts[5] * TEXT_NODE + counts[6] * TEXT_EDGE) / self.size)


def write_goal(schedule: MessageSchedule, path: Path, binary: bool) -> None:
    """Write a schedule as a GOAL file."""
    try:
        if binary:
            _write_binary(schedule, path)
        else:
            with path.open("w", encoding="ascii") as file:
                file.write(f"num_ranks {schedule.size}\n")
                for rank in range(schedule.size):
                    file.writelines(_block(schedule, rank))
    except OSError as error:
        raise Deep500Error(f"cannot write {path}: {error.strerror}") from None


def _write_binary(schedule: MessageSchedule, path: Path) -> None:
    path.touch()  # raises what is wrong with the path
    error = ctypes.c_int64(0)
    binary_library().goal_write(
        bytes(path),
        schedule.size,
        schedule.cpus,
        schedule.nics,
        schedule.nodes.ctypes.data,
        schedule.edges.ctypes.data,
        schedule.ranks.ctypes.data,
        ctypes.byref(error),
    )
    if error.value:
        raise Deep500Error(f"cannot write {path}: the disk may be full")


def _block(schedule: MessageSchedule, rank: int) -> Iterator[str]:
    yield f"\nrank {rank} {{\n"
    for number, operation in enumerate(schedule.operations(rank), 1):
        yield f"l{number}: {_statement(operation)}\n"
    for number, waiting in enumerate(schedule.dependants(rank), 1):
        for other, is_start in waiting:
            word = "irequires" if is_start else "requires"
            yield f"l{other + 1} {word} l{number}\n"
    yield "}\n"


def _statement(operation: Operation) -> str:
    cpu = f" cpu {operation.cpu}" if operation.cpu else ""
    if operation.kind == CALC:
        return f"calc {operation.size}{cpu}"
    is_receive = operation.kind == RECV
    verb, word = ("recv", "from") if is_receive else ("send", "to")
    peer, tag = _or_any(operation.peer), _or_any(operation.tag)
    nic = f" nic {operation.nic}" if operation.nic else ""
    return f"{verb} {operation.size}b {word} {peer} tag {tag}{cpu}{nic}"


def _or_any(number: int) -> int:
    return -1 if number == ANY else number


@cache
def binary_library() -> Any:
    library = compiled("_goal_binary.cpp", HEADERS)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    library.goal_open.restype = pointer
    library.goal_open.argtypes = [ctypes.c_char_p, number]
    library.goal_problem.restype = ctypes.c_char_p
    library.goal_problem.argtypes = [pointer]
    library.goal_ranks.restype = ctypes.c_uint32
    library.goal_ranks.argtypes = [pointer]
    library.goal_read.restype = number
    room = [pointer, number, pointer, number, pointer]
    library.goal_read.argtypes = [pointer, number, *room]
    library.goal_counts.argtypes = [pointer, pointer]
    library.goal_close.argtypes = [pointer]
    arrays = [pointer] * 4
    library.goal_write.argtypes = [ctypes.c_char_p, number, number, number, *arrays]
    library.goal_write.restype = number
    return library


@cache
def text_library() -> Any:
    library = compiled("_goal_text.cpp", HEADERS)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    library.text_open.restype = pointer
    library.text_open.argtypes = [ctypes.c_char_p]
    library.text_problem.restype = ctypes.c_char_p
    library.text_problem.argtypes = [pointer]
    library.text_ranks.restype = number
    library.text_ranks.argtypes = [pointer]
    library.text_into.argtypes = [pointer, pointer, number, pointer, number, pointer]
    library.text_read.argtypes = [pointer, number]
    library.text_counts.argtypes = [pointer, pointer]
    library.text_close.argtypes = [pointer]
    return library
