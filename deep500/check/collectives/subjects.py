"""Which operations of a collective are checked, and on how many ranks."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...contracts.collective import OPERATIONS, Collective
from ...errors import Deep500Error, Incomplete
from .cases import GIVING_ALL, CollectiveCase

REDUCING = ("all_reduce", "reduce_scatter", "sparse_all_reduce")
# nothing, less than an element for each rank, uneven, even
LENGTHS = (0, 1, 5, 17, 360)


@dataclass(frozen=True)
class CheckedOperation:
    """One operation of a collective, on up to so many ranks."""

    collective: Collective
    operation: str
    ranks: int
    seed: int = 0

    @cached_property
    def sizes(self) -> list[int]:
        return accepted_sizes(self.collective, self.ranks)

    @property
    def several(self) -> list[int]:
        """The fewest ranks that are several, the next number, and the most: for what need not be tried on all."""
        sizes = [size for size in self.sizes if size > 1]
        return sorted({*sizes[:2], *sizes[-1:]})

    @property
    def reduces(self) -> bool:
        return self.operation in REDUCING

    @property
    def is_lossy(self) -> bool:
        return self.operation in GIVING_ALL and self.collective.lossy

    def case(self, size: int, count: int, **settings: Any) -> CollectiveCase:
        return CollectiveCase(
            self.collective, self.operation, size, count, seed=self.seed, **settings
        )

    def all_cases(self, **settings: Any) -> Iterator[CollectiveCase]:
        """Every number of ranks with every length."""
        for size in self.sizes:
            for count in LENGTHS:
                yield self.case(size, count, **settings)

    def some_cases(self, count: int, **settings: Any) -> Iterator[CollectiveCase]:
        for size in self.several:
            yield self.case(size, count, **settings)


def accepted_sizes(collective: Collective, ranks: int) -> list[int]:
    """The numbers of ranks that the collective does not refuse."""
    sizes = []
    for size in range(1, ranks + 1):
        try:
            collective.check(size)
        except Deep500Error:
            continue
        sizes.append(size)
    return sizes


def check_subject(collective: Collective, ranks: int) -> None:
    """Refuse what cannot be checked at all."""
    name = type(collective).__name__
    if not collective.operations:
        raise Incomplete(
            f"{name} has no operation: write one of {', '.join(OPERATIONS)} in its class"
        )
    if not any(size > 1 for size in accepted_sizes(collective, ranks)):
        raise Deep500Error(
            f"{collective} accepts no number of ranks from 2 to {ranks}: raise --ranks, or give other settings"
        )
