"""The plan of a benchmark as plan.json holds it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ..schema import Between, Count, Length, decoded, optional, others
from .candidates import Level
from .clock import Clock
from .moment import Moment

MOST_ENTRIES = 2000  # a file from anyone could ask for millions
Ratio = Annotated[float, Between(0, 1e9)]


@dataclass(frozen=True)
class PlannedEntry:
    """One candidate at one combination of levels, and what is known of the work of a call."""

    name: str
    kind: str
    text: str
    levels: Mapping[str, Level]
    setup: str = ""
    job: Mapping[str, Any] | None = optional()
    group: str = optional("")
    work: Mapping[str, Any] | None = optional()
    more: Mapping[str, object] = others()


@dataclass(frozen=True, kw_only=True)
class BenchFacts:
    """What a benchmark of a noun writes into its plan; what only one noun has is in `more`."""

    wrong: Mapping[str, str] = optional({})  # what gave wrong results, and why
    left_out: Mapping[str, str] = optional({})
    differing: Mapping[str, str] = optional({})
    scope: str = optional("")
    inputs: str | None = optional()
    threads: int | str | None = optional()
    peaks: Mapping[str, Any] | None = optional()
    # by framework and device, such as pytorch@cuda:0
    device_peaks: Mapping[str, Mapping[str, Any]] = optional({})
    # MHz by device, as asked for
    locked_clocks: Mapping[str, Count] = optional({})
    moment: Moment | None = optional()
    more: Mapping[str, Any] = others()

    def peaks_for(self, work: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The peaks of the machine, or of the device that the work ran on, such as pytorch@cuda:0; None: not known."""
        word = str(work.get("framework"))
        return self.device_peaks.get(word) if "@" in word else self.peaks


NO_FACTS = BenchFacts()


@dataclass(frozen=True, kw_only=True)
class BenchPlan:
    """What is measured, how precisely and how long; version 0.1.0 did not write what is optional."""

    entries: Annotated[Sequence[PlannedEntry], Length(MOST_ENTRIES, least=1)]
    factors: Mapping[str, Level | Sequence[Level]]
    level: Annotated[float, Between(0.5, 1)]
    precision: Ratio
    margin: Ratio
    budget_s: Annotated[float, Between(0, 1e9)]
    processes: int | None
    cache: str
    control: bool
    timeout_s: float
    synchronised: bool
    seed: int
    layout: str | None = optional()
    point: str | None = optional()
    clock: Clock | None = optional()
    about: BenchFacts = optional(NO_FACTS)
    more: Mapping[str, object] = others()

    def __post_init__(self) -> None:
        names = {entry.name for entry in self.entries}
        if len(names) < len(self.entries):
            raise ValueError("a name of its own for each entry")

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.entries]

    def entry(self, name: str) -> PlannedEntry:
        """The entry of that name."""
        return self.entries[self.names.index(name)]


def check_plan(document: object) -> BenchPlan:
    """The plan of a bundle, which may come from anyone; raises a Deep500Error if it is malformed."""
    return decoded(BenchPlan, document, "plan.json")
