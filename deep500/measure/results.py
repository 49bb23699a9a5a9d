"""A result: the raw samples of a run, and every number derived from them by pure functions."""

import math
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from .. import bundle
from ..errors import Deep500Error, Refused, TooFewSamples
from .derivation import derive
from .interference import Exposure, Interference, exposure, interference, judged
from .plan import CONTROL
from .plan import suffix as _suffix
from .samples import (
    ProcessSamples,
    arrange,
    check_blocks,
    check_plan,
)
from .statistics.comparison import Comparison, compare
from .statistics.groups import holm
from .statistics.intervals import Interval, interval

# Stopping looks at the data several times. An interval that is reported as 95 % is computed at 96 % when rounds of one
# process were looked at, and at 96.8 % for looks after processes (which six processes can just reach by their ranks).
LOOKS_AT_ROUNDS, LOOKS_AT_PROCESSES = 0.8, 0.64


class Result:
    """The samples of one run and what they say; live or read back from a bundle, it is the same."""

    def __init__(
        self,
        plan: Mapping,
        blocks: list[dict],
        environment: Mapping | None = None,
        arranged: Mapping[int, ProcessSamples] | None = None,
    ):
        self.plan, self.blocks = plan, blocks
        self.environment = environment  # where and when it was measured
        self._arranged = (
            arranged or {}
        )  # of processes that have ended, so that a look need not do them again
        self.manifest: str | None = None  # the hash of the bundle it was written to
        self.names: list[str] = [e["name"] for e in plan["entries"]]

    @cached_property
    def processes(self) -> list[ProcessSamples]:
        """The samples of every process after its warm-up."""
        return list(self.arrange().values())

    def arrange(self) -> dict[int, ProcessSamples]:
        return arrange(len(self.names), self.blocks, self._arranged)

    @property
    def each_call_is_a_process(self) -> bool:
        return self.plan["entries"][0]["kind"] == "command"

    @property
    def bare(self) -> bool:
        """Whether nothing but the timed code runs in a round."""
        return self.plan.get("cache") == "warm" and not self.plan.get("synchronised")

    @property
    def one_group(self) -> bool:
        """Whether all entries share a process."""
        return len({entry.get("group", "") for entry in self.plan["entries"]}) == 1

    def samples(self, name: str) -> list[np.ndarray] | np.ndarray:
        """Seconds per call: one array per process, or one array where there was one process."""
        series = [p.seconds[self.index(name)] for p in self.processes]
        return series[0] if len(series) == 1 else series

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
        return interval(self.samples(name), quantile, level or self.looked_level)

    def batch(self, name: str) -> int:
        """How many calls were timed together."""
        return int(self.blocks[0]["calls"][self.index(name)])

    def compare(
        self, a: str, b: str, level: float | None = None, margin: float | None = None
    ) -> Comparison:
        """b against a, paired round by round inside every process."""
        i, j = self.index(a), self.index(b)
        found = compare(
            [p.rounds[i] for p in self.processes],
            [p.rounds[j] for p in self.processes],
            paired=True,
            margin=self.plan["margin"] if margin is None else margin,
            level=level or self.looked_level,
        )
        if self.interference is None:
            return found
        fewer_threads = "use --threads 1" if self.told_threads else "use fewer threads"
        exposures = self.exposure(a), self.exposure(b)
        return judged(found, self.interference, *exposures, fewer_threads)

    @cached_property
    def interference(self) -> Interference | None:
        """What others used of the machine meanwhile; None where that was not recorded."""
        return interference(self.blocks)

    def exposure(self, name: str) -> Exposure:
        """How others could have slowed this candidate down."""
        if self.interference is None:
            return Exposure(name, 1, False, 1.0)
        entry = self.index(name)
        return exposure(
            self.interference, self.blocks, entry, name, self.told_threads or 1
        )

    @property
    def told_threads(self) -> int | None:
        """The threads that frameworks were told to use, if they were."""
        threads = dict(self.plan.get("about") or {}).get("threads")
        return threads if type(threads) is int and threads > 0 else None

    @cached_property
    def comparisons(self) -> list[tuple[str, str, Comparison | TooFewSamples]]:
        """Every candidate against the first at the same levels, as one family (Holm)."""
        pairs = [(a, b) for a, b in self.pairs if not self.is_control(b)]
        family = holm(
            [partial(self.compare, a, b) for a, b in pairs], self.looked_level
        )
        return [(a, b, found) for (a, b), found in zip(pairs, family, strict=True)]

    @property
    def settled(self) -> bool:
        """Whether every interval is as narrow as asked and every comparison has a verdict."""
        precision = self.plan["precision"]
        try:
            if self.comparisons:
                return all(
                    isinstance(c, Comparison)
                    and c.verdict != "inconclusive"
                    and math.sqrt(c.high / c.low) - 1 <= precision
                    for _, _, c in self.comparisons
                )
            return all(
                self.interval(name).half_width <= precision for name in self.names
            )
        except Refused:
            return False

    @cached_property
    def derived(self) -> dict:
        """Every number that is reported; `d5 verify` computes it again from the raw samples."""
        return derive(self)

    def save(self, folder: str | Path) -> Path:
        """Write everything into a new folder as a bundle."""
        writer = bundle.create(folder, self.documents())
        for block in self.blocks:
            writer.append(dict(block))
        self.manifest = writer.finish({"derived.json": self.derived})
        return Path(folder)

    def documents(self) -> dict[str, object]:
        """What is written before the first sample."""
        return {
            "plan.json": dict(self.plan),
            "environment.json": dict(self.environment or {}),
        }

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """Read a result back from its bundle, refusing one that does not hold together."""
        found = bundle.read(folder)
        if found.problems:
            raise Deep500Error(
                f"{folder} does not verify: {found.problems[0]} (see all with `d5 verify`)"
            )
        return cls.from_bundle(found)

    @classmethod
    def from_bundle(cls, found: bundle.Bundle) -> "Result":
        plan = check_plan(found.documents.get("plan.json"))
        environment = found.documents.get("environment.json")
        return cls(
            plan,
            check_blocks(plan, found.blocks),
            environment if isinstance(environment, dict) else None,
        )

    @property
    def looked_level(self) -> float:
        """The level at which intervals are computed, so that after all the looks the level asked for holds."""
        if (self.plan.get("processes") or 1) > 1:
            return self.plan[
                "level"
            ]  # the number of processes was given: nothing was looked at
        return 1 - (1 - self.plan["level"]) * (
            LOOKS_AT_PROCESSES if len(self.processes) > 1 else LOOKS_AT_ROUNDS
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        first: dict[tuple, str] = {}
        pairs = [
            (first.setdefault(tuple(e["levels"].items()), e["name"]), e["name"])
            for e in self.plan["entries"]
        ]
        return [(a, b) for a, b in pairs if a != b]

    def is_control(self, name: str) -> bool:
        """Whether this is the first candidate again, at whatever levels."""
        if not self.plan["control"]:
            return False
        first = self.plan["entries"][0]
        levels = self.plan["entries"][self.index(name)]["levels"]
        plain = first["name"][: len(first["name"]) - len(_suffix(first["levels"]))]
        rest = name.removeprefix(plain + CONTROL)
        # A bundle sorts the levels by name, so only their order in the name may be another.
        parts = [f" {factor}={level}" for factor, level in levels.items()]
        whole = len(rest) == len(_suffix(levels)) and all(
            part in rest for part in parts
        )
        return name.startswith(plain + CONTROL) and whole

    def index(self, name: str) -> int:
        if name not in self.names:
            raise Deep500Error(
                f"no candidate is named {name!r}; there are: {', '.join(self.names)}"
            )
        return self.names.index(name)
