"""A metric that a recipe defined itself: readers of its bundle use the recorded values and never run its code."""

from typing import Literal

from ..contracts.metric import History, Metric
from ..errors import Deep500Error


class RecordedMetric(Metric):
    """The values that such a metric had for every seed when the recipe was run."""

    key: str = ""  # under "recorded" in the block that ends a seed
    unit: str = ""  # type: ignore[misc]
    kind: Literal["cost", "rate", "ratio", "count", "quality"] = "quality"  # type: ignore[misc]
    better: Literal["lower", "higher"] | None = "higher"  # type: ignore[misc]

    def __post_init__(self) -> None:
        kinds = ("cost", "rate", "ratio", "count", "quality")
        has_texts = isinstance(self.key, str) and isinstance(self.unit, str)
        has_direction = self.better in ("lower", "higher", None)
        if not has_texts or not has_direction or self.kind not in kinds:
            name = str(self.key)[:50]
            raise Deep500Error(
                f"plan.json: the metric {name!r} has no usable unit, kind and direction"
            )

    def value(self, history: History) -> float | None:
        return history.recorded.get(self.key)
