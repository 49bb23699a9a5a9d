"""What a bundle records of a run's history: numbers that are not finite are null."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..canonical import shown
from ..contracts.metric import History, Metric
from ..errors import Deep500Error, place_of, raise_if_internal, with_place
from ..training.recipe_blocks import Epoch, Look, Numbers


class NewNumbers:
    """The numbers that the series of one seed gain from epoch to epoch."""

    def __init__(self, recorded: Sequence[Epoch]):
        # how many numbers of every series are in the blocks already
        self.written: Counter[str] = Counter()
        for epoch in recorded:
            for name, part in epoch.series.items():
                self.written[name] += len(part)

    def take(self, history: History) -> dict[str, Numbers]:
        """The numbers that every series has gained since the last time."""
        new_numbers: dict[str, Numbers] = {}
        for name, numbers in history.series.items():
            unwritten = numbers[self.written[name] :]
            new_numbers[name] = list(map(finite, unwritten))
            self.written[name] = len(numbers)
        return new_numbers


def written_look(record: Mapping[str, Any]) -> Look:
    """An evaluation on the validation data."""
    validation = finite_qualities(record["validation"])
    return Look(record["epoch"], record["step"], record["seconds"], validation)


def finite_qualities(qualities: Mapping[str, float]) -> dict[str, float | None]:
    """The qualities, None for one that is not finite."""
    return {name: finite(value) for name, value in qualities.items()}


def own_metric_values(
    metrics: Mapping[str, Metric], history: History
) -> dict[str, float | None]:
    """The values of the metrics that a recipe defines itself."""
    return {key: _value(metric, history) for key, metric in metrics.items()}


def finite(number: float) -> float | None:
    """The number, or None if it is not finite."""
    return number if math.isfinite(number) else None


def _value(metric: Metric, history: History) -> float | None:
    try:
        value = metric.value(history)
        if value is None:
            return None
        if not _is_number(value):
            raise Deep500Error(
                f"{place_of(metric.value)} gives {shown(value)}: `value` returns a number, or None"
            )
        return finite(float(value))
    except Deep500Error:
        raise
    except Exception as error:  # a user's code may raise anything
        raise_if_internal(error)
        name = type(metric).__name__
        reason = with_place(error)
        raise Deep500Error(f"the metric {name} cannot be computed: {reason}") from None


def _is_number(value: Any) -> bool:
    """Whether it is a number, or an array of a single one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str | bytes)
