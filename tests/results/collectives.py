"""Blocks of a benchmark of collectives as a network would give them that is known."""

import random
from collections.abc import Sequence
from typing import Any

from deep500 import registry
from deep500.contracts.collective_cost import CollectiveCost
from deep500.contracts.fitted_loggp import FittedLogGP
from deep500.results.collectives.data import (
    LIBRARY,
    MESSAGE,
    PING_PONG,
    POST,
    TRAIN,
    TRAIN_LENGTH,
    CaseSamples,
    CollectiveLaunch,
    CollectivePlan,
    TimedCase,
)

ALGORITHMS = ("BinomialTree", "RecursiveDoubling", "Ring", "Rabenseifner")
SIZES = tuple(8 * 4**power for power in range(12))
TRUTH = FittedLogGP(
    L=20e-6,
    o=2e-6,
    g=3e-6,
    G=0.4e-9,
    knots=(0.0, 1024.0, 16384.0, 262144.0, 4194304.0),
    gaps=(2e-9, 1e-9, 0.5e-9, 0.3e-9, 0.4e-9),
    byte=0.2e-9,
    cpus=2,
    crowded_L=30e-6,
    crowded_G=0.2e-9,
)
NANO = 1e9


def plan_of(**settings: Any) -> CollectivePlan:
    usual: dict[str, Any] = {
        "transport": ["mpi"],
        "ranks": [2, 3, 4],
        "algorithm": ["all"],
        "operation": ["all_reduce"],
        "size": [],
        "dtype": ["float32"],
        "launches": 6,
        "seconds": 1.0,
        "overlap": False,
        "start": "window",
        "calls": 1,
        "hold_out": ["Rabenseifner()"],
        "seed": 0,
    }
    return CollectivePlan(**{**usual, **settings})


def row(
    case: TimedCase,
    ranks: int,
    seconds: Sequence[float],
    cost: CollectiveCost | None = None,
    late: float = 0.0,
) -> CaseSamples:
    """Iterations of these seconds, in all of which the last rank arrives so much later."""
    arrive, leave = [], []
    for one in seconds:
        begins = [0] * (ranks - 1) + [round(late * NANO)]
        arrive.append(begins)
        leave.append([begin + round(one * NANO) for begin in begins])
    return CaseSamples(case, arrive, leave, [case.bytes] * ranks, False, 0, cost)


def launch(
    ranks: int, number: int, rows: Sequence[CaseSamples], failure: str = ""
) -> CollectiveLaunch:
    clocks = [0] * ranks
    return CollectiveLaunch(
        transport="mpi",
        ranks=ranks,
        launch=number,
        machine="a machine",
        library="a library",
        cpus=2,
        others=0.0,
        start="window",
        delay=1000,
        residual=clocks,
        bound=clocks,
        rows=rows,
        failure=failure,
    )


def simulated(
    ranks: Sequence[int] = (2, 3, 4),
    noise: float = 0.02,
    slower: dict[str, float] | None = None,
) -> list[CollectiveLaunch]:
    """Six launches on the known network; `slower` says by what factor algorithms take longer than it says."""
    draw = random.Random(0)
    blocks = []
    for number in range(6):
        for count in ranks:
            rows = [row(*each) for each in _messages(count)]
            for case, cost in _collectives(count):
                seconds = TRUTH.seconds_of(cost, count, 4.0)
                seconds *= (slower or {}).get(case.algorithm, 1.0)
                noisy = [seconds * (1 + noise * draw.random()) for _ in range(5)]
                rows.append(row(case, count, noisy, cost))
            blocks.append(launch(count, number, rows))
    return blocks


def _collectives(ranks: int) -> list[tuple[TimedCase, CollectiveCost]]:
    pairs = []
    for name in ALGORITHMS:
        collective: Any = registry.find("collectives", name)()
        for nbytes in SIZES:
            case = TimedCase(f"{name}()", "all_reduce", nbytes, "float32")
            pairs.append((case, collective.cost("all_reduce", ranks, nbytes // 4)))
    return pairs


def _messages(ranks: int) -> list[tuple[TimedCase, int, list[float]]]:
    """A post, a trip and a train of one byte."""
    message = TRUTH.L + 2 * TRUTH.o + TRUTH.stream(1)
    trip = 2 * message
    times = {
        POST: TRUTH.o,
        PING_PONG: trip,
        TRAIN: trip + (TRAIN_LENGTH - 1) * TRUTH.g,
    }
    rows = []
    for name, seconds in times.items():
        rows.append((TimedCase(name, MESSAGE, 1, "uint8"), ranks, [seconds] * 5))
    return rows


def library(nbytes: int) -> TimedCase:
    return TimedCase(LIBRARY, "all_reduce", nbytes, "float32")
