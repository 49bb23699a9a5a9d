"""A result: the raw samples of a run, and every number derived from them by pure functions."""

import math
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from .. import bundle
from ..errors import Deep500Error, Refused, TooFewSamples
from ..schema import encoded
from .bench_blocks import TimedBlock, check_blocks
from .bench_plan import BenchPlan, check_plan
from .derivation import derive
from .interference import Exposure, Interference, exposure, interference, judged
from .neighbours import NeighbourEffect, neighbour_effect
from .numbers import BenchNumbers
from .plan import CONTROL, level_suffix
from .samples import ProcessSamples, arrange
from .statistics.assumptions import Widening, widening
from .statistics.comparison import Comparison, compare
from .statistics.estimands import (
    RatioEstimate,
    ratio_of_means,
    ratio_of_medians,
)
from .statistics.groups import holm
from .statistics.intervals import Interval, interval, middle_process
from .statistics.modality import DensityMode, modes
from .withholding import (
    widened_comparison,
    widened_interval,
    without_deferred_work,
    without_disagreement,
    without_neighbours,
)

# Stopping looks at the data several times. An interval that is reported as 95 % is computed at 96 % when rounds of one
# process were looked at, and at 96.8 % for looks after processes (which six processes can just reach by their ranks).
LOOKS_AT_ROUNDS, LOOKS_AT_PROCESSES = 0.8, 0.64


class Result:
    """The samples of one run and all that is derived from them, whether just measured or read from a bundle."""

    def __init__(
        self,
        plan: BenchPlan,
        blocks: list[TimedBlock],
        environment: Mapping | None = None,
        arranged: Mapping[int, ProcessSamples] | None = None,
    ):
        self.plan = plan
        self.blocks = blocks
        self.environment = environment  # where and when it was measured
        # processes that have ended, so that a look need not arrange them again
        self._arranged = arranged or {}
        # the hash of the bundle it was written to
        self.manifest: str | None = None
        self._estimates: dict[tuple[str, str], tuple[RatioEstimate, RatioEstimate]] = {}
        self.names = plan.names

    @cached_property
    def processes(self) -> list[ProcessSamples]:
        """The samples of every process after its warm-up."""
        return list(self.arrange().values())

    def arrange(self) -> dict[int, ProcessSamples]:
        return arrange(len(self.names), self.blocks, self._arranged)

    @property
    def each_call_is_a_process(self) -> bool:
        return self.plan.entries[0].kind == "command"

    @property
    def bare(self) -> bool:
        """Whether nothing but the timed code runs in a round."""
        return self.plan.cache == "warm" and not self.plan.synchronised

    @property
    def one_group(self) -> bool:
        """Whether all entries share a process."""
        groups = {entry.group for entry in self.plan.entries}
        return len(groups) == 1

    def samples(self, name: str) -> list[np.ndarray] | np.ndarray:
        """Seconds per call: one array per process, or one array where there was one process."""
        index = self.index(name)
        series = [process.seconds[index] for process in self.processes]
        if len(series) == 1:
            return series[0]
        return series

    def interval(
        self, name: str, quantile: float = 0.5, level: float | None = None
    ) -> Interval:
        """The interval of a quantile of one candidate's time per call."""
        batch = self.batch(name)
        if batch > 1 and not 0.25 <= quantile <= 0.75:
            raise Refused(
                f"the {quantile:g} quantile of {name!r} is not known: {batch} calls were timed together, "
                "and quantiles of their means are not quantiles of calls"
            )
        samples = self.samples(name)
        found = interval(samples, quantile, level or self.looked_level)
        found = found.around(middle_process(samples, quantile))
        return widened_interval(found, self.widening(name))

    def widening(self, name: str) -> Widening:
        """By how much dependence between its processes, or slow changes in one, widen the interval of a candidate."""
        index = self.index(name)
        rounds = [process.rounds[index] for process in self.processes]
        return widening(rounds)

    def batch(self, name: str) -> int:
        """How many calls were timed together."""
        calls = self.blocks[0].calls
        return int(calls[self.index(name)])

    def compare(
        self,
        a: str,
        b: str,
        level: float | None = None,
        margin: float | None = None,
    ) -> Comparison:
        """b against a, paired round by round inside every process."""
        i = self.index(a)
        j = self.index(b)
        if margin is None:
            margin = self.plan.margin
        comparison = compare(
            [process.rounds[i] for process in self.processes],
            [process.rounds[j] for process in self.processes],
            paired=True,
            margin=margin,
            level=level or self.looked_level,
        )
        if self.interference is not None:
            fewer_threads = (
                "use --threads 1" if self.told_threads else "use fewer threads"
            )
            base = self.exposure(a)
            other = self.exposure(b)
            comparison = judged(
                comparison, self.interference, base, other, fewer_threads
            )
        return self._with_meaning(comparison, a, b)

    def _with_meaning(self, c: Comparison, a: str, b: str) -> Comparison:
        """The comparison, without its verdict where that would mean something else than what it says."""
        i = self.index(a)
        j = self.index(b)
        ratios = [process.rounds[j] / process.rounds[i] for process in self.processes]
        c = widened_comparison(c, widening(ratios))
        c = without_deferred_work(c, self.after)
        effects = self.neighbours
        c = without_neighbours(c, effects[a], effects[b])
        medians, means = self.estimates(a, b)
        return without_disagreement(
            c,
            medians,
            means,
            lambda: {name: self.modes(name) for name in (a, b)},
        )

    @property
    def after(self) -> dict[str, float | None]:
        """CPU time that each candidate used after its clock had stopped, per timed time; None if it is not known."""
        shares = self.blocks[0].after if self.blocks else None
        if shares is None:
            return dict.fromkeys(self.names)
        return dict(zip(self.names, shares, strict=True))

    @cached_property
    def neighbours(self) -> dict[str, NeighbourEffect | None]:
        """What the other candidates do to the times of each."""
        level = self.looked_level
        effects = {}
        for i, name in enumerate(self.names):
            effects[name] = neighbour_effect(self.blocks, i, level)
        return effects

    def estimates(self, a: str, b: str) -> tuple[RatioEstimate, RatioEstimate]:
        """The ratio of the medians and that of the means of single values."""
        if (a, b) not in self._estimates:
            i = self.index(a)
            j = self.index(b)
            values_a = [process.seconds[i] for process in self.processes]
            values_b = [process.seconds[j] for process in self.processes]
            medians = ratio_of_medians(values_a, values_b)
            means = ratio_of_means(values_a, values_b)
            self._estimates[a, b] = medians, means
        return self._estimates[a, b]

    def modes(self, name: str) -> tuple[DensityMode, ...]:
        """The places that the times of a candidate gather around."""
        index = self.index(name)
        series = [process.seconds[index] for process in self.processes]
        values = np.concatenate(series)
        precision = self.plan.precision
        return modes(values, precision)

    @cached_property
    def interference(self) -> Interference | None:
        """What other processes used of the machine during the run; None if that was not recorded."""
        return interference(self.blocks)

    def exposure(self, name: str) -> Exposure:
        """How others could have slowed this candidate down."""
        if self.interference is None:
            return Exposure(name=name, threads=1, contended=False, stretch=1.0)
        entry = self.index(name)
        threads = self.told_threads or 1
        return exposure(self.interference, self.blocks, entry, name, threads)

    @property
    def told_threads(self) -> int | None:
        """The number of threads that frameworks were told to use; None if they were not told."""
        threads = self.plan.about.threads
        if isinstance(threads, int) and threads > 0:
            return threads
        return None

    @cached_property
    def comparisons(self) -> list[tuple[str, str, Comparison | TooFewSamples]]:
        """Every candidate against the first at the same levels, as one family (Holm)."""
        pairs = [(a, b) for a, b in self.pairs if not self.is_control(b)]
        looks = [partial(self.compare, a, b) for a, b in pairs]
        family = holm(looks, self.looked_level)
        comparisons = []
        for (a, b), outcome in zip(pairs, family, strict=True):
            comparisons.append((a, b, outcome))
        return comparisons

    @property
    def settled(self) -> bool:
        """Whether every interval is as narrow as asked and every comparison has a verdict."""
        precision = self.plan.precision
        try:
            if self.comparisons:
                return all(_is_settled(c, precision) for _, _, c in self.comparisons)
            return all(
                self.interval(name).half_width <= precision for name in self.names
            )
        except Refused:
            return False

    @cached_property
    def derived(self) -> BenchNumbers:
        """Every number that is reported; `d5 verify` computes it again from the raw samples."""
        return derive(self)

    def save(self, folder: str | Path) -> Path:
        """Write everything into a new folder as a bundle."""
        writer = bundle.create(folder, self.documents())
        for block in self.blocks:
            writer.append(encoded(block))
        self.manifest = writer.finish({"derived.json": encoded(self.derived)})
        return Path(folder)

    def documents(self) -> dict[str, object]:
        """What is written before the first sample."""
        return {
            "plan.json": encoded(self.plan),
            "environment.json": dict(self.environment or {}),
        }

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """Read a result back from its bundle; raises a Deep500Error if the bundle does not verify."""
        contents = bundle.read(folder)
        if contents.problems:
            problem = contents.problems[0]
            raise Deep500Error(
                f"{folder} does not verify: {problem} (see all with `d5 verify`)"
            )
        return cls.from_bundle(contents)

    @classmethod
    def from_bundle(cls, contents: bundle.Bundle) -> "Result":
        plan = check_plan(contents.documents.get("plan.json"))
        blocks = check_blocks(plan, contents.blocks)
        environment = contents.documents.get("environment.json")
        if not isinstance(environment, dict):
            environment = None
        return cls(plan, blocks, environment)

    @property
    def looked_level(self) -> float:
        """The stricter level at which intervals are computed to make up for looking at the data several times."""
        level = self.plan.level
        if (self.plan.processes or 1) > 1:
            return level  # the number of processes was given: nothing was looked at
        if len(self.processes) > 1:
            return 1 - (1 - level) * LOOKS_AT_PROCESSES
        return 1 - (1 - level) * LOOKS_AT_ROUNDS

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What is compared: the first candidate and every other one at the same levels."""
        first_at: dict[tuple, str] = {}
        pairs = []
        for entry in self.plan.entries:
            levels = tuple(entry.levels.items())
            name = entry.name
            first = first_at.setdefault(levels, name)
            if first != name:
                pairs.append((first, name))
        return pairs

    def is_control(self, name: str) -> bool:
        """Whether this is the first candidate again, at whatever levels."""
        if not self.plan.control:
            return False
        first = self.plan.entries[0]
        levels = self.plan.entry(name).levels
        first_suffix = level_suffix(first.levels)
        plain_length = len(first.name) - len(first_suffix)
        control = first.name[:plain_length] + CONTROL
        if not name.startswith(control):
            return False
        suffix = name.removeprefix(control)
        # A bundle sorts the levels by name, so only their order in the name may be another.
        if len(suffix) != len(level_suffix(levels)):
            return False
        parts = [f" {factor}={level}" for factor, level in levels.items()]
        return all(part in suffix for part in parts)

    def index(self, name: str) -> int:
        """The place of a candidate in the plan; raises a Deep500Error if there is none of this name."""
        if name not in self.names:
            names = ", ".join(self.names)
            raise Deep500Error(f"no candidate is named {name!r}; there are: {names}")
        return self.names.index(name)


def _is_settled(c: Comparison | TooFewSamples, precision: float) -> bool:
    if isinstance(c, TooFewSamples):
        return False
    if c.verdict == "inconclusive" and not c.withheld:
        return False
    half_width = math.sqrt(c.high / c.low) - 1
    return half_width <= precision
