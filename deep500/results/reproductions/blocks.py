"""The plan and the blocks of a reproduction: the original, every seed again, and what the second run came to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ...contracts.metric_summary import MetricSummary
from ...schema import Between, decoded, optional
from ...training.recipe_numbers import JudgedClaim
from ...training.resumption import FactChange
from ..outcomes.conditions import Conditions


@dataclass(frozen=True)
class DocumentedItem:
    """Something that a reader needs to interpret a result, and whether it is documented."""

    item: str
    present: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class RunResults:
    """The metrics and claims of one of the two runs."""

    bundle: str = ""
    hash: str | None
    seeds: Sequence[int]
    metrics: Sequence[MetricSummary]
    claims: Sequence[JudgedClaim]
    conditions: Conditions | None = optional()

    def __post_init__(self) -> None:
        for metric in self.metrics:
            if len(metric.values) != len(self.seeds):
                raise ValueError("one value of each metric for each seed")


@dataclass(frozen=True, kw_only=True)
class OriginalRun(RunResults):
    """The run that is reproduced."""

    name: str
    recipe_hash: str
    documentation: Sequence[DocumentedItem]


@dataclass(frozen=True)
class ReproductionPlan:
    """The original, and how far apart the qualities may lie."""

    original: OriginalRun
    margin: Annotated[float, Between(1e-12, 1e300)]
    level: Annotated[float, Between(0.5, 1)]
    changes: Sequence[str]  # of the recipe, in words


@dataclass(frozen=True, kw_only=True)
class SeedComparison:
    """One seed trained again: whether it gave the same bits, and where it did not."""

    seed: int
    # None: an earlier version did not compare them
    same_epochs: bool | None = optional()
    first_epoch: int | None = None
    same_losses: bool
    same_weights: bool
    first_step: int | None
    largest: float | None

    def __post_init__(self) -> None:
        if not self.same_losses and None in (self.first_step, self.largest):
            raise ValueError("the first step with another loss, and the difference")

    @property
    def same_bits(self) -> bool:
        return self.same_losses and self.same_weights


@dataclass(frozen=True, kw_only=True)
class FactDifference(FactChange):
    """A fact of the environments that differs, and how much that matters."""

    weight: str


@dataclass(frozen=True, kw_only=True)
class SecondRun(RunResults):
    """The last block: the results of the second run, and how its environment differs."""

    environment: Sequence[FactDifference]
    same_machine: bool
    same_setup: bool
    unstable: Sequence[str]  # operators that do not give the same bits twice


ReproductionBlock = SeedComparison | SecondRun
Blocks = Sequence[ReproductionBlock]


def reproduction_block(document: object, where: str) -> ReproductionBlock:
    """The block of that form; a Deep500Error if it has none."""
    if isinstance(document, dict) and "seed" in document:
        return decoded(SeedComparison, document, where)
    return decoded(SecondRun, document, where)


def seed_blocks(blocks: Blocks) -> list[SeedComparison]:
    """The blocks that compare one seed with the original."""
    return [block for block in blocks if isinstance(block, SeedComparison)]


def second_run(blocks: Blocks) -> SecondRun | None:
    """The last block; None if the run was ended before."""
    for block in blocks:
        if isinstance(block, SecondRun):
            return block
    return None
