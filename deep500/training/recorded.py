"""A metric that a recipe brought itself: a reader of its bundle has the values, and never runs its code."""

from typing import Literal

from ..contracts.metric import History, Metric
from ..errors import Deep500Error


class RecordedMetric(Metric):
    """What such a metric said of every seed while it was run."""

    key: str = ""  # of the value in the block that ends a seed
    unit: str = ""  # type: ignore[misc]
    kind: Literal["cost", "rate", "ratio", "count", "quality"] = "quality"  # type: ignore[misc]
    better: Literal["lower", "higher"] | None = "higher"  # type: ignore[misc]

    def __post_init__(self) -> None:
        kinds = ("cost", "rate", "ratio", "count", "quality")
        texts = isinstance(self.key, str) and isinstance(self.unit, str)
        if (
            not texts
            or self.kind not in kinds
            or self.better not in ("lower", "higher", None)
        ):
            raise Deep500Error(
                f"plan.json: the metric {str(self.key)[:50]!r} has no usable unit, kind and direction"
            )

    def value(self, history: History) -> float | None:
        return history.recorded.get(self.key)
