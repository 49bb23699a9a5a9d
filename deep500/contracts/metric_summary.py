"""A metric over the seeds of a recipe's run, as it is reported and as claims are judged by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..schema import optional
from .metric import Kind


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """The values of the seeds, None for one without, and their median with its interval."""

    name: str
    settings: Mapping[str, object]
    unit: str
    kind: Kind
    better: Literal["lower", "higher"] | None
    range: tuple[float | None, float | None] = (None, None)
    target: float | None
    values: Sequence[float | None]
    n: int
    level: float
    median: float | None
    low: float | None
    high: float | None
    method: str
    notes: Sequence[str]
    acceptable: bool
    sure: bool  # its whole interval meets the target
    unavailable: str = optional("")  # why the run could not measure it
    # of a metric with a goal: when each seed was last seen not to have reached it, and after how many steps it looked
    not_before: Sequence[float | None] | None = optional()
    looked_every: int | None = optional()
