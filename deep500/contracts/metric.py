"""The metric contract: a number about a training run, with its unit, kind and direction."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..definition import Definition


@dataclass(frozen=True)
class History:
    """What one training run leaves behind; a metric reads it and computes nothing on a device."""

    seed: int
    steps: int
    losses: list[float]  # per step
    step_seconds: list[float]  # per step, training only
    # after every epoch: "epoch" (from 1), "step", "seconds" (of training), "validation", "test" (last only; per cent)
    evaluations: list[dict[str, Any]]
    samples: int = 0  # examples trained on


class Metric(Definition):
    """A quantity of a run. `value` is None where the run does not give one (a target that was never reached)."""

    unit: ClassVar[str] = ""
    kind: ClassVar[Literal["cost", "rate", "ratio", "count", "quality"]] = "quality"
    better: ClassVar[Literal["lower", "higher"] | None] = "higher"

    def value(self, history: History) -> float | None:
        raise NotImplementedError

    def meets(self, value: float | None, target: float | None) -> bool:
        """Whether a value is acceptable; without a target any value is."""
        if value is None:
            return False
        if target is None or self.better is None:
            return True
        return value >= target if self.better == "higher" else value <= target
