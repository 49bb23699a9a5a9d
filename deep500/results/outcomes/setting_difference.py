"""A setting that two results do not share."""

from collections.abc import Mapping
from typing import NamedTuple


class SettingDifference(NamedTuple):
    """The name of a setting with its values in A and in B; None where one lacks it."""

    name: str
    a: object
    b: object


def setting_differences(
    a: Mapping[str, object], b: Mapping[str, object]
) -> list[SettingDifference]:
    """The settings whose values differ."""
    rows = []
    for name in dict.fromkeys([*a, *b]):
        if a.get(name) != b.get(name):
            rows.append(SettingDifference(name, a.get(name), b.get(name)))
    return rows
