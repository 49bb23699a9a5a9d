"""Any quality of a task at the end of a run."""

from collections.abc import Mapping
from typing import Literal

from ..contracts.metric import History, Metric, quality_named, quality_scale
from ..contracts.task import Quality


class FinalQuality(Metric):
    """A quality by its name ("mean absolute error") after the last epoch; the task defines its unit and direction."""

    name: str
    split: Literal["validation", "test"] = "test"

    def value(self, history: History) -> float | None:
        return history.final(self.split, self.name)

    def for_qualities(self, qualities: Mapping[str, Quality]) -> Metric:
        quality = quality_named(self.name, qualities)

        class OfTask(FinalQuality):
            unit = quality.unit
            better = quality.better
            scale = quality_scale(quality)

        return OfTask(self.name, self.split)
