"""The compiled engine: simulates a schedule under LogGOPS in integer nanoseconds."""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..contracts.noise import Detours
from ..custom.loops import Loops
from ..errors import Deep500Error, Unsupported
from .disturbances import Disturbances
from .network import FEMTO, MOST_KNOTS, ClusterLevel, ClusterNetwork
from .outcome import INTERVAL, BlockedRanks, SimulatedRun
from .schedule import CALC, SEND, MessageSchedule, kinds

HEADERS = (
    "_events.h",
    "_matching.h",
    "_network.h",
    "_noise.h",
    "_schedule.h",
    "_task.h",
)
SLICE = 200_000  # events between two looks at Ctrl-C and the progress line
LEVEL = np.dtype(
    [
        *((name, "<i8") for name in ("ranks", "L", "o", "g", "S", "G", "O", "knots")),
        ("knot", "<i8", MOST_KNOTS),
        ("gap", "<i8", MOST_KNOTS),
    ]
)
Progress = Callable[[float, str], None]


class DETOURS(ctypes.Structure):
    """As struct Detours in _noise.h."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("kind", "count", "period", "together")),
        *((name, ctypes.c_void_p) for name in ("starts", "ends")),
        *((name, ctypes.c_double) for name in ("every", "lasting", "shape")),
        ("seed", ctypes.c_uint64),
    )


WORDS = ("ranks", "cpus", "nics", "levels", "wildcards", "starts", "recorded")


class TASK(ctypes.Structure):
    """As struct Task in _task.h."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in WORDS),
        ("nodes", ctypes.c_void_p),
        ("node_count", ctypes.c_int64),
        *((n, ctypes.c_void_p) for n in ("edges", "rank", "level", "speed", "death")),
        ("detours", DETOURS),
        *((n, ctypes.c_void_p) for n in ("finish", "spent", "intervals")),
    )


def simulate_schedule(
    schedule: MessageSchedule,
    network: ClusterNetwork,
    disturbances: Disturbances | None = None,
    seed: int = 0,
    *,
    record: bool = False,
    progress: Progress | None = None,
) -> SimulatedRun:
    """Simulate a schedule; the same seed gives the same nanoseconds. With `record`, intervals are kept."""
    library = engine_library()
    arrays = _Arrays(schedule, network, disturbances or Disturbances(), seed, record)
    engine = library.engine_new(ctypes.byref(arrays.task))
    if not engine:
        raise _out_of_memory(schedule)
    try:
        more = 1
        while more > 0:
            more = library.engine_run(engine, SLICE)
            if progress is not None:
                _tell(progress, library.engine_events(engine), arrays.most_events)
        if more < 0:
            raise _out_of_memory(schedule)
        numbers = np.zeros(3, np.int64)
        library.engine_finish(engine, _pointer(numbers))
        reason = np.zeros(schedule.size, np.uint8)
        node = np.zeros(schedule.size, np.uint32)
        library.engine_blocked(engine, _pointer(reason), _pointer(node))
    finally:
        library.engine_delete(engine)
    events, _, intervals = numbers.tolist()
    recorded = arrays.intervals[:intervals] if record else None
    blocked = BlockedRanks(reason, node) if reason.any() else None
    return SimulatedRun(arrays.finish, arrays.spent, events, recorded, blocked)


def _tell(progress: Progress, events: int, most: int) -> None:
    progress(min(events / max(most, 1), 1.0), f"{events:,} events")


def _out_of_memory(schedule: MessageSchedule) -> Deep500Error:
    return Deep500Error(
        f"the memory does not suffice for {schedule.size} ranks with {len(schedule.nodes)} operations: take fewer"
    )


class _Arrays:
    """What the engine reads and writes, and the structure that points to it."""

    def __init__(
        self,
        schedule: MessageSchedule,
        network: ClusterNetwork,
        disturbances: Disturbances,
        seed: int,
        record: bool,
    ):
        size = schedule.size
        kind = kinds(schedule.nodes)
        sends = int(np.count_nonzero(kind == SEND))
        self.most_events = len(kind) + sends
        self.finish = np.zeros(size, np.int64)
        self.spent = np.zeros((size, 4), np.int64)
        busy = 2 * sends + int(np.count_nonzero(kind == CALC)) if record else 0
        self.intervals = np.empty(busy, INTERVAL)
        self.levels = np.array([_level(level) for level in network.levels], LEVEL)
        self.speeds = disturbances.speeds(size, seed)
        self.deaths = disturbances.deaths(size)
        detours = disturbances.noise.detours() if disturbances.noise else None
        self.kept = [schedule, detours]  # the memory behind the pointers
        self.task = TASK(
            size,
            schedule.cpus,
            schedule.nics,
            len(self.levels),
            schedule.wildcards,
            schedule.starts,
            record,
            _pointer(schedule.nodes),
            len(schedule.nodes),
            _pointer(schedule.edges),
            _pointer(schedule.ranks),
            _pointer(self.levels),
            _pointer(self.speeds),
            _pointer(self.deaths),
            _detours(detours, seed),
            _pointer(self.finish),
            _pointer(self.spent),
            _pointer(self.intervals),
        )


def _detours(detours: Detours | None, seed: int) -> DETOURS:
    if detours is None:
        return DETOURS()
    return DETOURS(
        1 if detours.period else 2,
        len(detours.starts),
        detours.period,
        detours.together,
        _pointer(detours.starts),
        _pointer(detours.ends),
        detours.every,
        detours.lasting,
        detours.shape,
        seed,
    )


def _level(level: ClusterLevel) -> tuple[Any, ...]:
    gap, overhead = level.per_byte
    gaps = [round(value * FEMTO) for value in level.gaps]
    fill = [0] * (MOST_KNOTS - len(gaps))
    return (
        level.ranks,
        level.L,
        level.o,
        level.g,
        level.S,
        gap,
        overhead,
        len(gaps),
        [*level.knots, *fill],
        [*gaps, *fill],
    )


def _pointer(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


@cache
def engine_library() -> Any:
    """The compiled engine; raises Unsupported where it cannot be built."""
    library = compiled("_engine.cpp")
    library.engine_new.restype = ctypes.c_void_p
    library.engine_new.argtypes = [ctypes.c_void_p]
    library.engine_run.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.engine_finish.argtypes = [ctypes.c_void_p] * 2
    library.engine_blocked.argtypes = [ctypes.c_void_p] * 3
    library.engine_events.argtypes = [ctypes.c_void_p]
    library.engine_events.restype = ctypes.c_uint64
    library.engine_delete.argtypes = [ctypes.c_void_p]
    return library


def compiled(source: str, headers: tuple[str, ...] = HEADERS) -> Any:
    """One of the C++ sources of this folder, compiled."""
    library = Loops(Path(__file__).with_name(source), headers).library()
    if library is None:
        raise Unsupported(
            "the virtual cluster needs a C++ compiler: install g++, or set CXX"
        )
    return library
