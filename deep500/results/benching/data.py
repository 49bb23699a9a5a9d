"""What the report of a measurement is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ...measure.bench_plan import BenchPlan
from ...measure.numbers import BenchNumbers, EntryComparison, EntryNumbers
from ...reports.canvas import numbered

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class ReportData:
    """What a report shows; `samples` and `discarded` hold seconds per call, one array per process, for drawing only.

    `discarded` are the values that the warm-up cut removed, in front of those in `samples`.
    """

    title: str
    plan: BenchPlan
    environment: Mapping[str, object]
    derived: BenchNumbers
    samples: Mapping[str, Sequence["np.ndarray"]] = field(default_factory=dict)
    bundle: str | None = None
    hash: str | None = None
    problems: Sequence[str] = ()
    sensors: Mapping[str, object] | None = None
    discarded: Mapping[str, Sequence["np.ndarray"]] = field(default_factory=dict)

    @property
    def entries(self) -> Sequence[EntryNumbers]:
        return self.derived.entries

    @property
    def comparisons(self) -> Sequence[EntryComparison]:
        return self.derived.comparisons

    def entry(self, name: str) -> EntryNumbers:
        return self.entries[self.positions[name]]

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of the first entry of each name."""
        positions: dict[str, int] = {}
        for position, entry in enumerate(self.entries):
            positions.setdefault(entry.name, position)
        return positions

    @cached_property
    def is_numbered(self) -> bool:
        """Whether entries have numbers, because pictures must shorten a name."""
        return numbered(list(self.positions))
