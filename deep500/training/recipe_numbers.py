"""The numbers that follow from the blocks of a recipe's run, as derived.json holds them."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..contracts.metric_summary import MetricSummary
from ..schema import optional


@dataclass(frozen=True)
class JudgedClaim:
    """A claim as a sentence, the kinds of metrics that it is about, and its verdict with the reason."""

    claim: str
    name: str
    kinds: Sequence[str]
    verdict: str
    reason: str


@dataclass(frozen=True)
class FailedSeed:
    """A seed that did not get to its planned end, and why."""

    seed: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class RecipeNumbers:
    """Every metric over the seeds, and what each seed took."""

    seeds: Sequence[int]  # that were trained to their end, or crashed
    metrics: Sequence[MetricSummary]
    acceptable: bool
    steps: Sequence[int]
    seconds: Sequence[float]
    build_seconds: Sequence[float]
    claims: Sequence[JudgedClaim] = optional(())
    failed: Sequence[FailedSeed]
