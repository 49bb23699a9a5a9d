"""How often the intervals hold the truth, by simulation, against the figures that the project set itself.

    python benchmarks/coverage.py [--replications N] [--seed S] [--only assumed|broken] [--jobs N] [--json]

Two to three minutes of CPU time with 2000 replications, shared by as many processes as there are CPUs. A refusal
(TooFewSamples) counts as correct; "held" leaves refusals out, "refused" is their rate. "width" is the median width over
3.92 times the simulated standard deviation of the estimator: 1 is what an oracle needs. Lines that begin with "known"
are regimes that do not hold and are documented as such.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import _regimes as regimes
import numpy as np
from _seed_coverage import rows as seed_rows
from _simulation import Random, Row, Task, run, wilson

from deep500.errors import TooFewSamples
from deep500.measure.results import LOOKS_AT_PROCESSES, Result
from deep500.measure.running import FIRST_PROCESSES, PROCESSES_GROWTH
from deep500.measure.statistics.assumptions import widening
from deep500.measure.statistics.drift import drift
from deep500.measure.statistics.intervals import interval
from deep500.measure.statistics.modality import modes
from deep500.measure.statistics.steadiness import steady_state
from deep500.measure.withholding import widened_interval

Draw = Callable[[Random], Any]
# What does not hold, by group and case, and stands as such in docs/how-we-measure.md.
DOCUMENTED = {
    ("broken assumption", "10 processes, AR 0.5"),
    ("broken assumption", "10 processes, AR 0.8"),
    ("broken assumption", "10 processes, AR 0.95"),
    ("broken assumption", "20 processes, AR 0.5"),
    ("broken assumption", "20 processes, AR 0.95"),
    ("broken assumption", "long memory H 0.95, n = 500"),
    ("false by ranks", "correlation -0.9, n = 5"),
    ("modes found", "5 sd apart, share 0.2, n = 100"),
}
WIDEST, DEAREST = 1.6, 2.5  # width against an oracle, and n against an oracle's


@dataclass(frozen=True)
class Case:
    """Data of a known truth and how to find it; `practice` is common and wrong, and must be caught."""

    group: str
    name: str
    draw: Draw
    truth: float = 1.0
    quantile: float = 0.5
    method: Callable[..., Any] = interval
    practice: bool = False


# ---- data


def lognormal(random: Random, n: int, rho: float = 0.0, sd: float = 0.5) -> np.ndarray:
    return np.exp(sd * regimes.autoregressive(random, n, rho))


def pareto(random: Random, n: int) -> np.ndarray:
    return 1 + random.pareto(1.5, n)


def processes(
    random: Random, count: int, ratio: float, skewed: bool = False
) -> list[np.ndarray]:
    """20 values each; the levels of the processes spread `ratio` times as much as the values within."""
    level = (
        random.exponential(1, count) - math.log(2)
        if skewed
        else random.standard_normal(count)
    )
    return list(
        np.exp(0.1 * (ratio * level[:, None] + random.standard_normal((count, 20))))
    )


def skewed_truth(ratio: float) -> float:
    """The median of skewed process medians, simulated: the noise within moves it off the median level."""
    draws = processes(np.random.default_rng(0), 50_000, ratio, skewed=True)
    return float(np.median(np.median(draws, axis=1)))


def unsteady(random: Random, kind: str, n: int, rho: float) -> np.ndarray:
    """A series of 5 % noise that is not steady from its start."""
    place = np.arange(n) / n
    levels = {
        "warm-up": np.where(place < 0.2, math.log(1.1), 0),
        "slowdown": np.where(place < 0.4, 0, math.log(1.1)),
        "first call": np.where(place == 0, math.log(10), 0),
        "decay": np.log1p(np.exp(-20 * place)),
        "drift": 0.3 * place,
    }
    return np.exp(levels[kind] + 0.05 * regimes.autoregressive(random, n, rho))


def mixture(random: Random, n: int, share: float) -> np.ndarray:
    """Two log-normal groups, five standard deviations apart."""
    return np.exp(0.05 * (5 * (random.random(n) < share) + random.standard_normal(n)))


# ---- what is commonly done


@dataclass(frozen=True)
class Practice:
    estimate: float
    low: float
    high: float


def naive_ranks(samples: np.ndarray, quantile: float = 0.5) -> Practice:
    """The rank interval of the median for independent values (Le Boudec)."""
    ordered, n = np.sort(samples), len(samples)
    rank = max(0, math.floor((n - 1.96 * math.sqrt(n)) / 2) - 1)
    return Practice(
        float(np.median(ordered)), float(ordered[rank]), float(ordered[n - 1 - rank])
    )


def pooled_t(samples: list[np.ndarray], quantile: float = 0.5) -> Practice:
    """The normal interval of the mean log of all values of all processes, as if they were independent."""
    logs = np.log(np.concatenate(samples))
    reach = 1.96 * logs.std(ddof=1) / math.sqrt(len(logs))
    return Practice(*(float(np.exp(logs.mean() + side * reach)) for side in (0, -1, 1)))


# ---- simulations


def coverage(
    case: Case, replications: int, random: Random, target: float = 93.5
) -> Row:
    """Draw, ask for an interval, look whether it holds the truth."""
    held, widths, estimates = 0, [], []
    for _ in range(replications):
        samples = case.draw(random)
        try:
            found = case.method(samples, quantile=case.quantile)
        except TooFewSamples:
            estimates.append(
                float(np.quantile(samples, case.quantile, method="median_unbiased"))
            )
            continue
        held += found.low <= case.truth <= found.high
        widths.append(found.high - found.low)
        estimates.append(found.estimate)
    answered = len(widths)
    correct = held + replications - answered
    width = float(np.median(widths) / (3.92 * np.std(estimates)))
    percent = 100 * correct / replications
    good = percent >= target and width <= WIDEST
    text = f"< {target}" if case.practice else f">= {target}, width <= {WIDEST}"
    details = {
        "held": 100 * held / answered,
        "refused": 100 * (1 - answered / replications),
        "width": width,
    }
    limits = wilson(correct, replications)
    ok = percent < target if case.practice else good
    return Row(case.group, case.name, percent, *limits, text, ok, details)


def oracle_n(rho: float, sd: float, precision: float) -> float:
    """How many values the median needs when its standard error is known."""
    tau = 1 + 4 / math.pi * float(np.arcsin(rho ** np.arange(1.0, 2000.0)).sum())
    return tau * (1.96 * math.sqrt(math.pi / 2) * sd / math.log1p(precision)) ** 2


def stopped(series: np.ndarray, precision: float) -> tuple[int, bool] | None:
    """Looks at n = 50, then half as much again, until the interval is narrow: n, and whether it holds 1."""
    n = 50
    while n <= len(series):
        try:
            found = interval(series[:n], level=0.96)
            if found.half_width <= precision:
                return n, found.low <= 1 <= found.high
        except TooFewSamples:
            pass  # the next look sees more
        n = int(n * 1.5)
    return None


def adaptive(
    rho: float, sd: float, precision: float, replications: int, random: Random
) -> Row:
    """Coverage of the interval at which an adaptive run stops, and what it cost against an oracle."""
    oracle = oracle_n(rho, sd, precision)
    longest = int(12 * max(oracle, 50))
    looks = (
        stopped(lognormal(random, longest, rho, sd), precision)
        for _ in range(replications)
    )
    ends = [end for end in looks if end]
    held, cost = (
        sum(good for _, good in ends),
        float(np.mean([n for n, _ in ends])) / max(oracle, 50),
    )
    target, percent = 92.0 if rho > 0.6 else 93.5, 100 * held / len(ends)
    details = {
        "n/oracle": cost,
        "oracle n": oracle,
        "never stopped": 100 * (1 - len(ends) / replications),
    }
    name = f"rho {rho:g}, sd {sd:g}, precision {precision:g}"
    text, ok = (
        f">= {target}, n <= {DEAREST} oracle",
        percent >= target and cost <= DEAREST,
    )
    return Row(
        "adaptive stopping", name, percent, *wilson(held, len(ends)), text, ok, details
    )


def stopped_after_processes(
    random: Random, ratio: float, precision: float, budget: int
) -> tuple[int, bool]:
    """Looks after 6 processes, then a quarter more, until the interval is narrow or the budget is spent."""
    series = processes(random, budget, ratio)
    count = FIRST_PROCESSES
    while True:
        found = interval(series[:count], level=1 - 0.05 * LOOKS_AT_PROCESSES)
        if found.half_width <= precision or count == budget:
            return count, found.low <= 1 <= found.high
        count = min(math.ceil(count * PROCESSES_GROWTH), budget)


def looks_after_processes(
    ratio: float, precision: float, budget: int, replications: int, random: Random
) -> Row:
    """Coverage of the interval at which a run over processes stops, reported as 95 %."""
    ends = [
        stopped_after_processes(random, ratio, precision, budget)
        for _ in range(replications)
    ]
    held, spent = sum(good for _, good in ends), [count for count, _ in ends]
    percent, target = 100 * held / replications, 93.5
    details = {
        "processes": float(np.mean(spent)),
        "ended by budget": 100 * float(np.mean([count == budget for count in spent])),
    }
    name = f"between/within {ratio:g}, ±{100 * precision:g} %, at most {budget}"
    limits = wilson(held, replications)
    text = f">= {target}"
    return Row(
        "looks at processes", name, percent, *limits, text, percent >= target, details
    )


def share_of(group: str, name: str, draw: Draw, happens: Callable[[Any], bool], target: str, trials: int,
             random: Random) -> Row:  # fmt: skip
    """How often something happens to drawn data, against a target such as "<= 5"."""
    count = sum(bool(happens(draw(random))) for _ in range(trials))
    percent, (relation, figure) = 100 * count / trials, target.split()
    ok = percent <= float(figure) if relation == "<=" else percent >= float(figure)
    return Row(group, name, percent, *wilson(count, trials), target, ok)


# ---- cases


def series_cases() -> Iterator[Case]:
    for n in (10, 20, 30, 50, 100, 300, 1000):
        yield Case("log-normal", f"n = {n}", partial(lognormal, n=n))
    for rho, n in ((0.3, 100), (0.6, 100), (0.9, 400), (0.9, 100)):
        yield Case("AR(1)", f"rho {rho}, n = {n}", partial(lognormal, n=n, rho=rho))
    for quantile, n in ((0.5, 10), (0.5, 100), (0.9, 100), (0.99, 1000)):
        truth = (1 - quantile) ** (-1 / 1.5)
        yield Case(
            "Pareto 1.5",
            f"p{100 * quantile:g}, n = {n}",
            partial(pareto, n=n),
            truth,
            quantile,
        )


def process_cases() -> Iterator[Case]:
    for count in (4, 5, 6, 8, 12, 20):
        for ratio in (0, 0.5, 1, 2):
            draw = partial(processes, count=count, ratio=ratio)
            yield Case("processes x 20", f"{count}, between/within {ratio}", draw)
    truth = skewed_truth(2)
    for count in (4, 6, 10, 20):
        draw = partial(processes, count=count, ratio=2, skewed=True)
        yield Case("skewed processes", f"{count}, between/within 2", draw, truth)


def practice_cases() -> Iterator[Case]:
    for rho in (0.6, 0.9):
        draw = partial(lognormal, n=100, rho=rho)
        yield Case(
            "common practice",
            f"ranks, rho {rho}, n = 100",
            draw,
            method=naive_ranks,
            practice=True,
        )
    draw_processes = partial(processes, count=5, ratio=1)
    yield Case(
        "common practice",
        "5 processes pooled",
        draw_processes,
        method=pooled_t,
        practice=True,
    )


def process_look_rows(replications: int, seed: int) -> Iterator[Task]:
    for number, ratio in enumerate((0.5, 1, 2)):
        for precision, budget in ((0.1, 40), (0.05, 40), (0.05, 20), (0.02, 20)):
            random = np.random.default_rng([seed, 1500 + number])
            yield partial(
                looks_after_processes, ratio, precision, budget, replications, random
            )


def is_cut(values: np.ndarray) -> bool:
    return steady_state(values).kind != "flat"


def is_kind(values: np.ndarray, kind: str) -> bool:
    return steady_state(values).kind == kind


def has_modes(values: np.ndarray, fewest: int) -> bool:
    return len(modes(values)) >= fewest


def steadiness_rows(trials: int, seed: int) -> Iterator[Task]:
    random = np.random.default_rng([seed, 2000])
    for rho, n in ((0, 100), (0, 300), (0, 1000), (0.3, 300), (0.6, 300), (0.9, 300)):
        case = f"rho {rho:g}, n = {n}"
        draw = partial(lognormal, n=n, rho=rho, sd=0.1)
        [own] = random.spawn(1)
        yield partial(share_of, "false cuts", case, draw, is_cut, "<= 5", trials, own)
    answers = {
        "warm-up": "warmup",
        "slowdown": "slowdown",
        "first call": "warmup",
        "decay": "warmup",
        "drift": "none",
    }
    for kind, answer in answers.items():
        for rho, n in ((0, 300), (0.6, 300), (0, 1000)):
            if rho and kind == "drift":
                continue  # not to be told from slow noise at this length
            case = f"{kind}, rho {rho:g}, n = {n}"
            draw = partial(unsteady, kind=kind, n=n, rho=rho)
            right = partial(is_kind, kind=answer)
            target = ">= 80" if kind == "drift" else ">= 90"
            [own] = random.spawn(1)
            yield partial(
                share_of, "changes found", case, draw, right, target, trials // 4, own
            )


def modality_rows(trials: int, seed: int) -> Iterator[Task]:
    random = np.random.default_rng([seed, 3000])
    one_mode: dict[str, Callable[..., np.ndarray]] = {
        "log-normal 0.02": lambda random, n: random.lognormal(0, 0.02, n),
        "log-normal 1": lambda random, n: random.lognormal(0, 1, n),
        "Pareto 1.5": pareto,
        "gamma 0.5": lambda random, n: random.gamma(0.5, 1, n),
        "uniform 20 %": lambda random, n: 1 + 0.2 * random.random(n),
        "5 clock ticks": lambda random, n: (
            np.round(random.lognormal(0, 0.02, n) * 50) / 50
        ),
    }
    two = partial(has_modes, fewest=2)
    for law, draw in one_mode.items():
        for n in (50, 200, 1000, 2000):
            case = f"{law}, n = {n}"
            drawn = partial(draw, n=n)
            [own] = random.spawn(1)
            yield partial(
                share_of, "false modes", case, drawn, two, "<= 2", trials, own
            )
    for share in (0.5, 0.2):
        for n in (100, 300):
            case = f"5 sd apart, share {share}, n = {n}"
            drawn = partial(mixture, n=n, share=share)
            [own] = random.spawn(1)
            yield partial(
                share_of, "modes found", case, drawn, two, ">= 95", trials, own
            )


# ---- broken assumptions


def assumption_rows(replications: int, seed: int) -> Iterator[Task]:
    """Regimes in which an assumption does not hold; the target is that of the regimes in which it does."""
    number = 0
    for draw, name, truth in broken_cases():
        random = np.random.default_rng([seed, 4000 + number])
        number += 1
        yield partial(broken, name, draw, truth, replications, random)
    for count in (6, 10, 20, 40):
        for rho in (0, 0.5, 0.8, 0.95):
            random = np.random.default_rng([seed, 5000 + number])
            number += 1
            draws = partial(regimes.dependent_processes, count=count, rho=rho)
            name = f"{count} processes, AR {rho:g}"
            target = "<= 6.5"
            yield partial(
                share_of,
                "false drifts",
                name,
                draws,
                drifts,
                target,
                replications,
                random,
            )


def drifts(processes: list[np.ndarray]) -> bool:
    """Whether a drift is reported."""
    logs = [np.log(values) for values in processes]
    found = drift(logs, dependent=True)
    return found is not None and found.low * found.high > 0


def broken_cases() -> Iterator[tuple[Draw, str, float]]:
    for count in (10, 20, 40):
        for rho in (0, 0.5, 0.8, 0.95):
            draw = partial(regimes.dependent_processes, count=count, rho=rho)
            yield draw, f"{count} processes, AR {rho:g}", 1.0
    for n in (500, 2000):
        for hurst in (0.7, 0.8, 0.9, 0.95):
            draw = partial(regimes.long_memory, n=n, hurst=hurst)
            yield draw, f"long memory H {hurst:g}, n = {n}", 1.0
        for dwell in (10, 30):
            draw = partial(regimes.switching, n=n, dwell=dwell)
            yield draw, f"modes kept {dwell} calls, n = {n}", regimes.switching_median()


def broken(
    name: str, draw: Draw, truth: float, replications: int, random: Random
) -> Row:
    """How often the interval that is reported holds the truth, and how often its assumption is found broken."""
    held, plain, answered, warned = 0, 0, 0, 0
    for _ in range(replications):
        samples = draw(random)
        try:
            unchecked = interval(samples)
        except TooFewSamples:
            continue
        series = samples if isinstance(samples, list) else [samples]
        wider = widening(series)
        found = widened_interval(unchecked, wider)
        answered += 1
        held += found.low <= truth <= found.high
        plain += unchecked.low <= truth <= unchecked.high
        warned += wider.factor > 1
    percent = 100 * held / answered
    details = {
        "unchecked": 100 * plain / answered,
        "said": 100 * warned / answered,
        "refused": 100 * (1 - answered / replications),
    }
    limits = wilson(held, answered)
    ok = percent >= 93.5
    return Row("broken assumption", name, percent, *limits, ">= 93.5", ok, details)


def coarse_rows(replications: int, seed: int) -> Iterator[Task]:
    """Intervals of a clock of few ticks that hold the truth or come with a warning."""
    for number, true in enumerate((1.4, 5.3, 20.3, 100.3)):
        random = np.random.default_rng([seed, 6000 + number])
        draw = partial(regimes.ticks, n=300, true=true)
        right = partial(holds_or_warns, true=true)
        name = f"{true:g} ticks, n = 300"
        yield partial(
            share_of, "coarse clock", name, draw, right, ">= 93.5", replications, random
        )


def holds_or_warns(samples: np.ndarray, true: float) -> bool:
    found = interval(samples)
    warned = any("coarse clock" in note for note in found.notes)
    return warned or found.low <= true <= found.high


def verdict_rows(trials: int, seed: int) -> Iterator[Task]:
    """Verdicts of whole results: of several costs, of what a neighbour leaves behind, of dependent processes."""
    cases: dict[str, tuple[Callable[[Random], Result], tuple[str, ...], str]] = {
        "two costs against 2: any verdict": (several_costs, GIVEN, "<= 1"),
        "one cost, +5 %: slower": (partial(plain_result, ratio=1.05), ("slower",), ">= 99"),
        "A/A: slower or faster": (partial(plain_result, ratio=1.0), DIFFERENT, "<= 1"),
        "carry-over 3 %, margin 0.5 %, A/A: slower or faster": (carried_over, DIFFERENT, "<= 1"),
        "20 processes, ratio AR .95, 3 %, A/A: slower or faster": (
            partial(dependent_result, rho=0.95),
            DIFFERENT,
            "<= 5",
        ),
        "20 processes, ratio AR .5, 3 %, A/A: slower or faster": (
            partial(dependent_result, rho=0.5),
            DIFFERENT,
            "<= 5",
        ),
    }  # fmt: skip
    for number, (name, (draw, counted, target)) in enumerate(cases.items()):
        random = np.random.default_rng([seed, 7000 + number])
        happens = partial(has_verdict, counted=counted)
        yield partial(share_of, "verdicts", name, draw, happens, target, trials, random)


DIFFERENT = ("slower", "faster")
GIVEN = (*DIFFERENT, "same")


def has_verdict(result: Result, counted: tuple[str, ...]) -> bool:
    return result.compare("a", "b").verdict in counted


def several_costs(random: Random) -> Result:
    dear = partial(regimes.one_cost, cost=2.0)
    return regimes.measured(random, [dear, regimes.two_costs])


def plain_result(random: Random, ratio: float) -> Result:
    other = partial(regimes.one_cost, cost=ratio)
    return regimes.measured(random, [regimes.one_cost, other])


def carried_over(random: Random) -> Result:
    draws = [regimes.one_cost, regimes.one_cost]
    return regimes.measured(random, draws, carry_over=0.03, margin=0.005)


def dependent_result(random: Random, rho: float) -> Result:
    draws = [regimes.one_cost, regimes.one_cost]
    levels = 0.03 * regimes.autoregressive(random, 20, rho)
    return regimes.measured(random, draws, processes=20, log_levels=levels)


GROUPS = ("assumed", "broken")


def table(replications: int, seed: int, group: str = "") -> Iterator[Task]:
    """Every row, or those of one group; each has a generator of its own, so that one case does not change the next."""
    if group != "broken":
        yield from assumed_rows(replications, seed)
    if group != "assumed":
        yield from assumption_rows(replications, seed)
        yield from coarse_rows(replications, seed)
        yield from verdict_rows(max(1, replications // 5), seed)


def assumed_rows(replications: int, seed: int) -> Iterator[Task]:
    """Regimes in which the assumptions hold."""
    for number, case in enumerate(
        [*series_cases(), *process_cases(), *practice_cases()]
    ):
        random = np.random.default_rng([seed, number])
        yield partial(coverage, case, replications, random)
    for number, rho in enumerate((0, 0.3, 0.6, 0.9)):
        for sd, precision in ((0.3, 0.05), (0.1, 0.02), (0.1, 0.05)):
            random = np.random.default_rng([seed, 1000 + number])
            yield partial(
                adaptive, rho, sd, precision, max(1, replications // 2), random
            )
    yield from process_look_rows(replications, seed)
    yield from steadiness_rows(replications, seed)
    yield from modality_rows(replications, seed)
    yield from seed_rows(replications, seed)


if __name__ == "__main__":
    run(table, __doc__, GROUPS, DOCUMENTED)
