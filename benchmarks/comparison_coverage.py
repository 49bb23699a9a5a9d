"""How often compare()'s interval holds the true ratio, and how often its verdict is wrong, by simulation.

    python benchmarks/comparison_coverage.py [--replications 1000] [--seed 1] [--only TEXT]

Coverage of nominal 95 %: goal 93.5 %. A refusal (TooFewSamples) makes no claim; its rate is shown. Width is the
median width of the log interval over 3.92 standard deviations of the estimate (1: as narrow as could be known).
"""

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from deep500.errors import TooFewSamples
from deep500.measure.statistics.comparison import compare

Random = np.random.Generator
Series = np.ndarray | list[np.ndarray]


def autoregressive(rng: Random, n: int, rho: float) -> np.ndarray:
    """Standard normal values with autocorrelation rho ** lag."""
    z = rng.normal(size=n)
    for i in range(1, n if rho else 1):
        z[i] = rho * z[i - 1] + math.sqrt(1 - rho * rho) * z[i]
    return z


def series(n: int, spread: float = 0.5, rho: float = 0.0) -> Callable[[Random], Series]:
    return lambda rng: np.exp(spread * autoregressive(rng, n, rho))


def processes(
    count: int, between: float, n: int = 20, spread: float = 0.1
) -> Callable[[Random], Series]:
    """Processes of n values; between is the spread of their medians over the spread within them."""
    return lambda rng: [
        np.exp(spread * (between * rng.normal() + rng.normal(size=n)))
        for _ in range(count)
    ]


@dataclass(frozen=True)
class Case:
    """Two makers of costs with equal medians; shared noise, if any, multiplies both sides of every pair."""

    name: str
    a: Callable[[Random], Series]
    b: Callable[[Random], Series]
    paired: bool = False
    shared: Callable[[Random], np.ndarray] | None = None
    quantile: float = 0.5

    def data(self, rng: Random, ratio: float) -> tuple[Series, Series]:
        a, b = self.a(rng), self.b(rng)
        b = [ratio * x for x in b] if isinstance(b, list) else ratio * b
        if self.shared is not None:
            noise = self.shared(rng)
            return a * noise, b * noise
        return a, b


COVERAGE = [
    *(
        Case(f"lognormal .5, n = {n}, {m}", series(n), series(m))
        for n, m in ((10, 10), (10, 50), (10, 200), (30, 30), (50, 100), (200, 200))
    ),
    Case("lognormal .1, .5, n = 10, 10", series(10, 0.1), series(10)),
    Case("lognormal .5, .1, n = 20, 200", series(20), series(200, 0.1)),
    Case("AR .6, n = 100, 100", series(100, rho=0.6), series(100, rho=0.6)),
    Case("AR .6, n = 100, 400", series(100, rho=0.6), series(400, rho=0.6)),
    Case("AR .6 n = 100, iid n = 100", series(100, rho=0.6), series(100)),
    Case("AR .9, n = 400, 400", series(400, rho=0.9), series(400, rho=0.9)),
    *(
        Case(
            f"{k}, {m} processes, between {between:g}",
            processes(k, between),
            processes(m, between),
        )
        for k, m in ((4, 4), (4, 10), (5, 6), (6, 6), (8, 8), (10, 10))
        for between in (0, 1, 2)
    ),
    Case("p90, lognormal .5, n = 100, 100", series(100), series(100), quantile=0.9),
    Case("p90, lognormal .5, n = 40, 300", series(40), series(300), quantile=0.9),
    *(
        Case(
            f"paired, n = {n}, shared AR .9",
            series(n, 0.05),
            series(n, 0.05),
            True,
            series(n, 0.5, 0.9),
        )
        for n in (10, 30, 100)
    ),
    Case(
        "paired, AR .6, n = 100", series(100, 0.05, 0.6), series(100, 0.05, 0.6), True
    ),
    *(
        Case(
            f"paired, {k} processes, between {between:g}",
            processes(k, between),
            processes(k, between),
            True,
        )
        for k in (4, 6, 10)
        for between in (0, 1)
    ),
]
VERDICTS = [
    Case("n = 30, 30, spread 5 %", series(30, 0.05), series(30, 0.05)),
    Case("n = 100, 100, spread 5 %", series(100, 0.05), series(100, 0.05)),
    Case(
        "AR .6, n = 100, 100, spread 5 %",
        series(100, 0.05, 0.6),
        series(100, 0.05, 0.6),
    ),
    Case(
        "5, 5 processes, between 1",
        processes(5, 1, spread=0.01),
        processes(5, 1, spread=0.01),
    ),
    Case(
        "10, 10 processes, between 1",
        processes(10, 1, spread=0.01),
        processes(10, 1, spread=0.01),
    ),
    Case(
        "paired, n = 100, shared AR .9",
        series(100, 0.03),
        series(100, 0.03),
        True,
        series(100, 0.5, 0.9),
    ),
    Case(
        "paired, 6 processes",
        processes(6, 1, spread=0.01),
        processes(6, 1, spread=0.01),
        True,
    ),
]


@dataclass(frozen=True)
class Found:
    """What the replications of one case gave; those that were refused count in `refused` only."""

    covered: int
    made: int
    refused: int
    width: float
    verdicts: dict[str, int]

    @property
    def coverage(self) -> float:
        return self.covered / max(1, self.made)


def simulate(
    case: Case, replications: int, seed: int, ratio: float = 1.05, margin: float = 0.02
) -> Found:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(replications):
        try:
            made.append(
                compare(
                    *case.data(rng, ratio), margin, 0.95, case.paired, case.quantile
                )
            )
        except TooFewSamples:
            continue
    widths = [math.log(c.high / c.low) for c in made]
    estimates = [math.log(c.ratio) for c in made]
    verdicts = [c.verdict for c in made]
    return Found(
        sum(c.low <= ratio <= c.high for c in made),
        len(made),
        replications - len(made),
        float(np.median(widths) / (3.92 * np.std(estimates))) if made else math.nan,
        {v: verdicts.count(v) for v in sorted(set(verdicts))},
    )


def show_coverage(case: Case, replications: int, seed: int) -> None:
    # other quantiles are equal only if the spreads are
    ratio = 1.3 if case.quantile == 0.5 else 1.0
    found = simulate(case, replications, seed, ratio)
    low, high = binomtest(found.covered, found.made).proportion_ci()
    print(
        f"{case.name:38s} {100 * found.coverage:5.1f} % [{100 * low:.1f}, {100 * high:.1f}]  "
        f"refused {100 * found.refused / replications:4.1f} %  width {found.width:.2f}",
        flush=True,
    )


def show_verdicts(case: Case, replications: int, seed: int) -> None:
    null, bare, planted = (
        simulate(case, replications, seed + i, ratio, margin)
        for i, (ratio, margin) in enumerate(((1.0, 0.02), (1.0, 0.0), (1.05, 0.02)))
    )
    false, barely = (
        100 * sum(f.verdicts.get(v, 0) for v in ("slower", "faster")) / replications
        for f in (null, bare)
    )
    print(
        f"{case.name:38s} A/A false {false:.1f} % (without a margin {barely:.1f} %), same "
        f"{100 * null.verdicts.get('same', 0) / replications:.0f} %; +5 % slower "
        f"{100 * planted.verdicts.get('slower', 0) / replications:.0f} %, faster or same "
        f"{100 * sum(planted.verdicts.get(v, 0) for v in ('faster', 'same')) / replications:.1f} %",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    args = parser.parse_args()
    for title, cases, show in (
        ("Coverage of the ratio, nominal 95 %", COVERAGE, show_coverage),
        ("Verdicts, margin 2 %", VERDICTS, show_verdicts),
    ):
        print(f"{title}, {args.replications} replications", flush=True)
        for case in cases:
            if args.only in case.name:
                show(case, args.replications, args.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
