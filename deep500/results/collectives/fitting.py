"""Fits LogGP to the times of collectives and messages: non-negative least squares of relative errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...contracts.collective_cost import CollectiveCost
from ...contracts.fitted_loggp import DURATIONS, FittedLogGP, crowding

# bytes from which on messages may have another gap: as long as caches and the limits of eager sending allow
KNOTS = (0.0, 1024.0, 16384.0, 262144.0, 4194304.0)


@dataclass(frozen=True)
class Observation:
    """A time with what it consists of, for elements of `gamma` bytes on so many ranks."""

    seconds: float
    cost: CollectiveCost
    ranks: int
    gamma: float


@dataclass(frozen=True)
class MessageEnds:
    """What messages between two ranks tell apart, which no collective does: overhead, and gap between messages."""

    o: float
    g: float


def fitted(
    observations: Sequence[Observation],
    ends: MessageEnds,
    cpus: int,
    about: Mapping[str, str],
) -> FittedLogGP:
    """The network whose times are nearest, as a share of what was measured."""
    import numpy as np
    from scipy.optimize import nnls

    rows, rests = [], []
    for observation in observations:
        fixed, row = _terms(observation, ends, cpus)
        rest = max(observation.seconds - fixed, 0.05 * observation.seconds)
        rows.append(np.array(row) / observation.seconds)
        rests.append(rest / observation.seconds)
    matrix = np.array(rows)
    used = _distinguishable(matrix)
    solution = np.zeros(matrix.shape[1])
    # columns of about the same size, so that the solver's tolerance suits all
    scale = np.linalg.norm(matrix[:, used], axis=0)
    found, _ = nnls(matrix[:, used] / scale, np.array(rests))
    solution[used] = found / scale
    return _network(solution.tolist(), ends, cpus, about)


def _network(
    solution: Sequence[float], ends: MessageEnds, cpus: int, about: Mapping[str, str]
) -> FittedLogGP:
    durations = dict(zip(DURATIONS, solution, strict=False))
    latency, *gaps = solution[len(DURATIONS) :]
    settings: dict[str, Any] = {
        # a message takes L + 2 o, and the ranks' share of that is known
        "L": max(0.0, latency - 2 * ends.o),
        "o": min(ends.o, latency / 2),
        "g": ends.g,
        "G": gaps[-1],
        "knots": KNOTS,
        "gaps": tuple(gaps),
        "cpus": cpus,
        **durations,
        **about,
    }
    return FittedLogGP(**settings)


def _terms(
    observation: Observation, ends: MessageEnds, cpus: int
) -> tuple[float, list[float]]:
    """The known seconds of a cost, and how often every unknown parameter counts in it."""
    cost = observation.cost
    crowd = crowding(observation.ranks, cpus)
    messages = [(count, nbytes) for count, nbytes, _ in cost.spacings]
    known = ends.g * sum(count for count, _ in messages)
    rounds = sum(count for count, _ in cost.rounds)
    messages += cost.rounds
    gaps = [0.0] * len(KNOTS)
    for count, nbytes in messages:
        for place, part in enumerate(_parts(nbytes)):
            gaps[place] += count * part
    gaps[-1] += cost.streamed
    durations = {
        "element": cost.reduced / observation.gamma,
        "byte": cost.reduced,
        "call": 1,
        "exchange": cost.exchanges,
        "exchange_byte": cost.exchanged,
        "crowded_L": crowd * rounds,
        "crowded_G": crowd * sum(gaps),
        "crowded_byte": crowd * cost.reduced,
        "crowded_call": crowd,
    }
    # of terms that cannot be told apart the last ones count: those of LogGP
    return known, [*(durations[name] for name in DURATIONS), rounds, *gaps]


def _parts(nbytes: float) -> list[float]:
    """How many bytes of a message lie behind each knot."""
    ends = (*KNOTS[1:], float("inf"))
    pairs = zip(KNOTS, ends, strict=True)
    return [max(0.0, min(nbytes, end) - knot) for knot, end in pairs]


def _distinguishable(matrix: Any) -> list[int]:
    """The columns that are not 0, and no multiple of one that is used already; of two such the later one is used."""
    import numpy as np

    used: list[int] = []
    for column in reversed(range(matrix.shape[1])):
        trial = matrix[:, [column, *used]]
        norms = np.linalg.norm(trial, axis=0)
        if norms[0] > 0 and np.linalg.matrix_rank(trial / norms, tol=1e-6) > len(used):
            used.insert(0, column)
    return used
