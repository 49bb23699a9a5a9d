"""A metric that a recipe defined itself: readers of its bundle use the recorded values and never run its code."""

import math
from typing import Literal

from ..contracts.metric import History, Metric, Scale, usual_scale
from ..errors import Deep500Error


class RecordedMetric(Metric):
    """The values that such a metric had for every seed when the recipe was run."""

    key: str = ""  # under "recorded" in the block that ends a seed
    unit: str = ""  # type: ignore[misc]
    kind: Literal["cost", "rate", "ratio", "count", "quality"] = "quality"  # type: ignore[misc]
    better: Literal["lower", "higher"] | None = "higher"  # type: ignore[misc]
    # the ends of its range, if it declared any
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        kinds = ("cost", "rate", "ratio", "count", "quality")
        has_texts = isinstance(self.key, str) and isinstance(self.unit, str)
        has_direction = self.better in ("lower", "higher", None)
        if not has_texts or not has_direction or self.kind not in kinds:
            name = str(self.key)[:50]
            raise Deep500Error(
                f"plan.json: the metric {name!r} has no usable unit, kind and direction"
            )
        for end in (self.low, self.high):
            if end is not None and not isinstance(end, int | float):
                raise Deep500Error(
                    f"plan.json: the metric {self.key!r} has no usable range"
                )

    @property
    def value_range(self) -> Scale:
        if self.low is None and self.high is None:
            return usual_scale(self.kind, self.unit)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return Scale(low, high)

    def value(self, history: History) -> float | None:
        return history.recorded.get(self.key)
