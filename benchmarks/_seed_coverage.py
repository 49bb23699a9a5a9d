"""How often intervals over the seeds of training runs hold the truth, by simulation, and whether any leaves its range.

    python benchmarks/_seed_coverage.py [--replications N] [--seed S] [--json]

`benchmarks/coverage.py` prints these rows, too. The truth is the median of the distribution that the seeds are drawn
from, known or computed from a million draws.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from _simulation import Random, Row, Task, run, wilson

from deep500.errors import TooFewSamples
from deep500.measure.statistics.equivalence import median_equivalence
from deep500.measure.statistics.profiles import TAU_MAX, performance_profiles
from deep500.measure.statistics.ranks import few_pairs_tail, sign_flip_tail
from deep500.measure.statistics.scales import POSITIVE, REAL, SHARE, Scale
from deep500.measure.statistics.seeds import (
    seeds_interval,
    seeds_interval_with_missing,
)
from deep500.measure.statistics.survival import median_time

SEEDS = (3, 4, 5, 6, 10, 20)
AT_MOST_ONE = Scale(high=1.0)
SCALES = {
    "share": SHARE,
    "positive": POSITIVE,
    "real": REAL,
    "at most 1": AT_MOST_ONE,
}
TARGET = 93.5
DRAWS = 10_000  # of every scale and number of seeds, for the ranges


@dataclass(frozen=True)
class Law:
    """Values of seeds; `target` is None where too few seeds cannot hold, which is said and not hidden."""

    name: str
    scale: Scale
    draw: Callable[[Random, int], np.ndarray]
    target: float | None = TARGET


def odds(random: Random, n: int, share: float, sd: float) -> np.ndarray:
    """Accuracies that are normal in their log-odds."""
    place = math.log(share / (1 - share))
    return 100 / (1 + np.exp(-random.normal(place, sd, n)))


def quantised(random: Random, n: int, share: float) -> np.ndarray:
    """Accuracies on 360 test examples."""
    return 100 * np.round(3.6 * odds(random, n, share, 0.6)) / 360


def collapsing(random: Random, n: int, rate: float, drop: float) -> np.ndarray:
    values = odds(random, n, 0.95, 0.2)
    return np.where(random.random(n) < rate, values - drop, values)


def with_zeros(random: Random, n: int) -> np.ndarray:
    return random.exponential(1, n) * (random.random(n) > 0.3)


LAWS = (
    Law("share 50 %, log-odds 0.3", SHARE, partial(odds, share=0.5, sd=0.3)),
    Law("share 99 %, log-odds 0.5", SHARE, partial(odds, share=0.99, sd=0.5)),
    Law("share 90 %, log-odds 1.5", SHARE, partial(odds, share=0.9, sd=1.5)),
    Law("share, beta(2, 40)", SHARE, lambda r, n: 100 * r.beta(2, 40, n)),
    Law("share, 10 % collapse by 20", SHARE, partial(collapsing, rate=0.1, drop=20)),
    Law("share, 30 % collapse by 80", SHARE, partial(collapsing, rate=0.3, drop=80)),
    Law("share 99 %, of 360 examples", SHARE, partial(quantised, share=0.99), None),
    Law("share 99.9 %, of 360 examples", SHARE, partial(quantised, share=0.9986), None),
    Law("positive, log-normal 0.3", POSITIVE, lambda r, n: r.lognormal(0, 0.3, n)),
    Law("positive, log-normal 1", POSITIVE, lambda r, n: r.lognormal(0, 1, n)),
    Law("positive, exponential", POSITIVE, lambda r, n: r.exponential(1, n)),
    Law("positive, Pareto 1.5", POSITIVE, lambda r, n: 1 + r.pareto(1.5, n)),
    Law("positive, 30 % zeros", POSITIVE, with_zeros, None),
    Law("real, normal", REAL, lambda r, n: r.normal(0, 1, n)),
    Law("real, t with 3 df", REAL, lambda r, n: r.standard_t(3, n)),
    Law("real, exponential", REAL, lambda r, n: r.exponential(1, n) - 1),
    Law("R2, 1 - log-normal 1", AT_MOST_ONE, lambda r, n: 1 - r.lognormal(0, 1, n)),
)


def coverage(law: Law, n: int, replications: int, random: Random) -> Row:
    """Draw seeds, ask for the interval, look whether it holds the median of the law."""
    truth = float(np.median(law.draw(np.random.default_rng(0), 1_000_001)))
    slack = 1e-9 * (1 + abs(truth))
    held, widths = 0, []
    for _ in range(replications):
        found = seeds_interval(law.draw(random, n).tolist(), law.scale)
        held += found.low - slack <= truth <= found.high + slack
        widths.append(found.high - found.low)
    percent = 100 * held / replications
    target = law.target or 100 * (1 - 2.0 ** (1 - n)) - 0.5
    target = min(target, TARGET)
    details = {"median width": float(np.median(widths))}
    limits = wilson(held, replications)
    name = f"{law.name}, n = {n}"
    text = f">= {target:.4g}"
    return Row("seeds", name, percent, *limits, text, percent >= target, details)


def anywhere(random: Random, scale: Scale, n: int) -> list[float]:
    """Values of the whole range: next to its ends and on them, of any size, with ties."""
    spread = random.choice([1e-6, 0.1, 1, 8])
    places = random.normal(random.normal(0, 4), spread, n)
    values = [scale.value_at(place) for place in places]
    ends = [end for end in (scale.low, scale.high) if math.isfinite(end)]
    kinds = random.random(n)
    for i, kind in enumerate(kinds):
        if ends and kind < 0.1:
            values[i] = ends[i % len(ends)]
        elif kind > 0.9:
            values[i] = values[0]
    return values


def outside(name: str, draws: int, random: Random) -> Row:
    """The share of intervals that leave their range, or do not hold their own median, over n from 2 to 20."""
    scale = SCALES[name]
    count = refused = 0
    for n in range(2, 21):
        for _ in range(draws):
            values = anywhere(random, scale, n)
            try:
                found = seeds_interval(values, scale)
            except TooFewSamples:
                refused += 1
                continue
            inside = scale.low <= found.low and found.high <= scale.high
            right = found.estimate == np.median(values)
            count += not (
                inside and right and found.low <= found.estimate <= found.high
            )
    total = 19 * draws
    details = {"intervals": float(total - refused), "refused (n = 2)": float(refused)}
    limits = wilson(count, total)
    case = f"{name}, n = 2 to 20"
    percent = 100 * count / total
    return Row("out of range", case, percent, *limits, "<= 0", count == 0, details)


def lost(n: int, share: float, replications: int, random: Random) -> Row:
    """A share of the seeds diverges and ranks as the worst."""
    place = (0.5 - share) / (1 - share)
    truth = float(np.quantile(np.random.default_rng(0).normal(95, 1, 1_000_001), place))
    held = 0
    for _ in range(replications):
        values = random.normal(95, 1, n)
        values[random.random(n) < share] = -math.inf
        found = seeds_interval_with_missing(values.tolist())
        held += found.low <= truth <= found.high
    percent = 100 * held / replications
    limits = wilson(held, replications)
    case = f"{100 * share:.0f} % lost, n = {n}"
    return Row("lost seeds", case, percent, *limits, ">= 93.5", percent >= TARGET)


def times(n: int, never: float, replications: int, random: Random) -> Row:
    """Log-normal times, of which those beyond the horizon are censored; a share of the seeds never arrives."""
    place = 0.5 / (1 - never)
    truth, horizon = math.inf, math.exp(0.3)
    if place < 1:
        truth = float(
            np.quantile(np.random.default_rng(0).lognormal(0, 0.5, 1_000_001), place)
        )
    held = 0
    for _ in range(replications):
        drawn = random.lognormal(0, 0.5, n)
        gone = random.random(n) < never
        arrived = (drawn <= horizon) & ~gone
        ends = np.where(gone, math.inf, np.minimum(drawn, horizon))
        found = median_time(ends.tolist(), arrived.tolist())
        low = math.inf if found.low is None else found.low
        high = math.inf if found.high is None else found.high
        held += low <= truth <= high or (found.low is None and truth > horizon)
    percent = 100 * held / replications
    limits = wilson(held, replications)
    case = f"{100 * never:.0f} % never, n = {n}"
    ok = percent >= TARGET
    return Row("Kaplan-Meier", case, percent, *limits, ">= 93.5", ok)


def collapsed(random: Random, n: int, rate: float) -> np.ndarray:
    """Hardly any difference between two runs, except for seeds that collapse by 20 points."""
    return random.normal(0, 0.3, n) - 20 * (random.random(n) < rate)


# The median of each is at the margin of 1.5, or beyond it.
DIFFERENCES: dict[str, Callable[[Random, int], np.ndarray]] = {
    "normal": lambda random, n: random.normal(1.5, 1, n),
    "exponential": lambda random, n: random.exponential(1.5 / math.log(2), n),
    "log-normal 1": lambda random, n: 1.5 * random.lognormal(0, 1, n),
    "55 % collapse": partial(collapsed, rate=0.55),
}


def equivalent(name: str, n: int, replications: int, random: Random) -> Row:
    """How often a median at the margin is called equivalent."""
    count = 0
    for _ in range(replications):
        differences = DIFFERENCES[name](random, n).tolist()
        count += median_equivalence(differences, 1.5).verdict == "equivalent"
    percent = 100 * count / replications
    limits = wilson(count, replications)
    case = f"{name}, n = {n}"
    ok = limits[0] <= 5
    return Row("false equivalence", case, percent, *limits, "<= 5", ok)


FAILING = {"equal systems": 0.0, "a fifth fails": 0.2}


def problem_costs(random: Random, n: int, law: str) -> np.ndarray:
    """Costs of two systems on n problems; infinite: failed."""
    costs = random.lognormal(0, 0.5, (2, n))
    costs[random.random((2, n)) < FAILING[law]] = math.inf
    return costs


def true_score(law: str) -> float:
    """The share of the area under a profile, from its definition and a million problems."""
    costs = problem_costs(np.random.default_rng(0), 1_000_000, law)
    best = costs.min(axis=0)
    is_solved = np.isfinite(costs[0])
    ratios = costs[0][is_solved] / best[is_solved]
    areas = np.maximum(1 - np.log(ratios) / math.log(TAU_MAX), 0)
    return float(areas.sum() / len(best))


def score(law: str, n: int, replications: int, random: Random) -> Row:
    """The interval of the score of a system over problems."""
    truth = true_score(law)
    held = 0
    for _ in range(replications):
        table = {}
        for system, costs in zip("ab", problem_costs(random, n, law), strict=True):
            table[system] = {str(i): float(cost) for i, cost in enumerate(costs)}
        found = performance_profiles(table)
        [profile] = [system for system in found.systems if system.system == "a"]
        assert profile.low is not None and profile.high is not None
        held += profile.low <= truth <= profile.high
    percent = 100 * held / replications
    limits = wilson(held, replications)
    case = f"{law}, {n} problems"
    return Row("profile scores", case, percent, *limits, ">= 93.5", percent >= TARGET)


def by_ranks(n: int, rho: float, replications: int, random: Random) -> Row:
    """How often two runs of the same kind, 30 % of whose seeds never arrive, are told apart; seeds are paired."""
    count = 0
    covariance = [[1, rho], [rho, 1]]
    test = sign_flip_tail if n >= 6 else few_pairs_tail
    for _ in range(replications):
        drawn = random.multivariate_normal([0, 0], covariance, n)
        drawn[drawn > 0.52] = math.inf
        a, b = drawn.T.tolist()
        count += min(test(a, b), test(b, a)) <= 0.025
    percent = 100 * count / replications
    limits = wilson(count, replications)
    case = f"correlation {rho:g}, n = {n}"
    return Row("false by ranks", case, percent, *limits, "<= 5", limits[0] <= 5)


def comparison_rows(replications: int, seed: int) -> Iterator[Task]:
    for number, name in enumerate(DIFFERENCES):
        for n in (6, 10, 20):
            random = np.random.default_rng([seed, 4400 + number, n])
            yield partial(equivalent, name, n, replications, random)
    for number, law in enumerate(("equal systems", "a fifth fails")):
        for n in (6, 10, 20):
            random = np.random.default_rng([seed, 4500 + number, n])
            yield partial(score, law, n, max(1, replications // 4), random)
    for number, rho in enumerate((-0.9, 0.0, 0.9)):
        for n in (4, 5, 6, 10):
            random = np.random.default_rng([seed, 4600 + number, n])
            yield partial(by_ranks, n, rho, replications, random)


def rows(replications: int, seed: int) -> Iterator[Task]:
    """Every row, each with a generator of its own."""
    yield from comparison_rows(replications, seed)
    for number, law in enumerate(LAWS):
        for n in SEEDS:
            random = np.random.default_rng([seed, 4000 + number, n])
            yield partial(coverage, law, n, replications, random)
    for number, share in enumerate((0.1, 0.3)):
        for n in (6, 10, 20):
            random = np.random.default_rng([seed, 4100 + number, n])
            yield partial(lost, n, share, replications, random)
    for number, never in enumerate((0.0, 0.2, 0.6)):
        for n in (5, 6, 10, 20):
            random = np.random.default_rng([seed, 4200 + number, n])
            yield partial(times, n, never, replications, random)
    draws = min(DRAWS, 5 * replications)
    for number, name in enumerate(SCALES):
        random = np.random.default_rng([seed, 4300 + number])
        yield partial(outside, name, draws, random)


if __name__ == "__main__":
    run(rows, __doc__)
