"""Two runs of a test suite side by side: every measurement that both have, as one family of comparisons."""

from collections.abc import Sequence

from ...contracts.result import Contrast
from ...errors import Deep500Error
from ..benching.measurement_comparison import (
    EntryPair,
    contrast_of_pairs,
    plan_differences,
)
from .contents import RecordedMeasurement


def suite_contrast(
    a: Sequence[RecordedMeasurement],
    b: Sequence[RecordedMeasurement],
    margin: float,
    level: float,
) -> Contrast:
    """Compare the measurements of the same name; raises a Deep500Error if there are none."""
    entries_a, entries_b = _entries(a), _entries(b)
    pairs = []
    for label, (measured_a, name) in entries_a.items():
        if label in entries_b:
            measured_b, _ = entries_b[label]
            pair = EntryPair(label, measured_a.result, name, measured_b.result, name)
            pairs.append(pair)
    if not pairs:
        raise Deep500Error(
            "nothing to compare: no measurement of A has the name of one of B"
        )
    only_in_a = [label for label in entries_a if label not in entries_b]
    only_in_b = [label for label in entries_b if label not in entries_a]
    differences = _differences(a, b)
    return contrast_of_pairs(pairs, only_in_a, only_in_b, differences, margin, level)


def _entries(
    measurements: Sequence[RecordedMeasurement],
) -> dict[str, tuple[RecordedMeasurement, str]]:
    """Every entry of every measurement, by a name that says both."""
    entries = {}
    for measured in measurements:
        names = measured.result.names
        for name in names:
            label = measured.name
            if len(names) > 1:
                label = f"{measured.name}: {name}"
            entries[label] = measured, name
    return entries


def _differences(
    a: Sequence[RecordedMeasurement], b: Sequence[RecordedMeasurement]
) -> list[str]:
    """What the plans of the same measurement differ in."""
    of_a = {measured.name: measured.result for measured in a}
    differences = []
    for measured in b:
        if measured.name in of_a:
            differences += plan_differences(of_a[measured.name], measured.result)
    return differences
