"""Performance profiles (Dolan & Moré, 2002): one curve per system over many problems, instead of a mean of ratios.

The ratio of a system on a problem is its cost over the least cost of any system there; it is infinite where the system
failed. A system's profile at τ is the share of problems on which its ratio is at most τ. Its score is the area under
the profile over log τ from 1 to τ_max, as a share of the largest possible area, so that no single problem outweighs
the others (the idea of AlgoPerf's score).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import Deep500Error

TAU_MAX = 4.0
RESAMPLES = 4000
FEWEST_PROBLEMS = 6  # for an interval of a score
# By system and problem; None or infinity: failed.
Costs = Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True)
class Profile:
    """One system: its ratio on every problem, and its score with what other choices of problems make of it."""

    system: str
    ratios: tuple[float, ...]
    score: float
    # the ends of its interval over problems; None with too few of them
    low: float | None
    high: float | None
    # the score when one problem is left out, by its name
    without: Mapping[str, float]

    def share(self, tau: float) -> float:
        """The share of problems on which the system is within a factor of τ of the best."""
        return float(np.mean(np.array(self.ratios) <= tau))

    @property
    def wins(self) -> float:
        """The share of problems on which no system is better."""
        return self.share(1.0)

    @property
    def solved(self) -> float:
        """The share of problems that the system solves at all."""
        return float(np.mean(np.isfinite(self.ratios)))


@dataclass(frozen=True)
class Profiles:
    """All systems, best score first, and how much that order depends on the choice of the problems."""

    problems: tuple[str, ...]
    systems: tuple[Profile, ...]
    tau_max: float
    level: float
    # problems without which another system is first
    swapped_by: tuple[str, ...]

    @property
    def order(self) -> list[str]:
        return [profile.system for profile in self.systems]


def performance_profiles(
    costs: Costs, tau_max: float = TAU_MAX, level: float = 0.95, seed: int = 0
) -> Profiles:
    """Profiles of systems over the problems that all of them were tried on; costs are above 0, lower is better."""
    problems = _problems(costs)
    _check(costs, problems, tau_max, level)
    names = list(costs)
    ratios = _ratios(_table(costs, problems))
    areas = _areas(ratios, tau_max)
    without = _left_out(areas)
    weights = _weights(areas.shape[1], seed)
    profiles = []
    for i, name in enumerate(names):
        low, high = _ends(areas[i], weights, level)
        score_without = dict(zip(problems, without[i].tolist(), strict=True))
        profile = Profile(
            system=name,
            ratios=tuple(ratios[i].tolist()),
            score=float(areas[i].mean()),
            low=low,
            high=high,
            without=score_without,
        )
        profiles.append(profile)
    profiles.sort(key=lambda profile: -profile.score)
    first = names.index(profiles[0].system)
    return Profiles(
        problems=tuple(problems),
        systems=tuple(profiles),
        tau_max=tau_max,
        level=level,
        swapped_by=_swapping(without, first, problems),
    )


def _problems(costs: Costs) -> list[str]:
    """The problems that every system was tried on, in the order of the first one's."""
    if not costs:
        raise Deep500Error("a profile needs at least one system")
    first, *others = costs.values()
    problems = []
    for problem in first:
        if all(problem in other for other in others):
            problems.append(problem)
    return problems


def _check(costs: Costs, problems: Sequence[str], tau_max: float, level: float) -> None:
    if not problems:
        raise Deep500Error(
            "no problem was tried by every system: there is nothing to rank them by"
        )
    if not 1 < tau_max < math.inf:
        raise Deep500Error(f"tau_max is {tau_max}: give a number above 1")
    if not 0 < level < 1:
        raise Deep500Error(
            f"level must lie between 0 and 1 (such as 0.95), got {level!r}"
        )
    for system, row in costs.items():
        for problem in problems:
            if not _cost(row[problem]) > 0:
                raise Deep500Error(
                    f"the cost of {system} on {problem} is {row[problem]}: give one above 0"
                )


def _table(costs: Costs, problems: Sequence[str]) -> np.ndarray:
    """Costs by system and problem; infinite for a failure."""
    rows = []
    for row in costs.values():
        rows.append([_cost(row[problem]) for problem in problems])
    return np.array(rows)


def _cost(value: float | None) -> float:
    if value is None:
        return math.inf
    return float(value)


def _ratios(costs: np.ndarray) -> np.ndarray:
    """Costs over the least cost of each problem; a problem that nobody solved is a failure for all."""
    best = costs.min(axis=0)
    solved = np.isfinite(costs) & np.isfinite(best)
    return np.divide(costs, best, out=np.full_like(costs, np.inf), where=solved)


def _areas(ratios: np.ndarray, tau_max: float) -> np.ndarray:
    """What each problem adds to the area: 1 for the best, 0 from tau_max on, linear in log τ between."""
    capped = np.minimum(ratios, tau_max)
    return 1 - np.log(capped) / math.log(tau_max)


def _weights(count: int, seed: int) -> np.ndarray:
    """Random weights of the problems and of one more that nobody has seen; those of a draw add up to 1."""
    random = np.random.default_rng(seed)
    return random.dirichlet(np.ones(count + 1), RESAMPLES)


def _ends(
    areas: np.ndarray, weights: np.ndarray, level: float
) -> tuple[float | None, float | None]:
    """The interval of a mean of numbers from 0 to 1 (Gaffke, 2005), None with too few of them.

    The problem that nobody has seen counts as 0 for the lower end and as 1 for the upper one: a bootstrap, or t, would
    take six problems that were all won as proof that all are.
    """
    if len(areas) < FEWEST_PROBLEMS:
        return None, None
    seen = weights[:, :-1] @ areas
    tail = (1 - level) / 2
    low = np.quantile(seen, tail)
    high = np.quantile(seen + weights[:, -1], 1 - tail)
    return float(low), float(min(high, 1.0))


def _left_out(areas: np.ndarray) -> np.ndarray:
    """The scores of every system without each problem; not a number if it is the only one."""
    count = areas.shape[1]
    if count == 1:
        return np.full_like(areas, np.nan)
    return (areas.sum(axis=1, keepdims=True) - areas) / (count - 1)


def _is_first(scores: np.ndarray, first: int) -> np.ndarray:
    return scores[first] >= scores.max(axis=0)


def _swapping(
    without: np.ndarray, first: int, problems: Sequence[str]
) -> tuple[str, ...]:
    """The problems without which another system has the best score."""
    if len(problems) == 1:
        return ()
    moved = ~_is_first(without, first)
    return tuple(np.array(problems)[moved].tolist())
