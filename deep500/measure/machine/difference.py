"""How two environments differ, what can matter first."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import CLASSES, Environment, Fact
from .table import (
    SPEED,
    TABLE,
    WEIGHTS,
    Weight,
)

_RANKED = {
    (name, row.fact): (row.weight, place)
    for name in CLASSES
    for place, row in enumerate(TABLE[name])
}


@dataclass(frozen=True)
class Difference:
    """One fact that differs, or that is known on one side only."""

    class_name: str
    fact: str
    left: Fact
    right: Fact
    weight: Weight


def environment_difference(a: Environment, b: Environment) -> list[Difference]:
    """What differs: by weight, then what both sides know before the rest, then in the table's order."""
    both = (item for env in (a, b) for item in env.classes.items())
    names = dict.fromkeys((group, name) for group, facts in both for name in facts)
    found = [
        Difference(group, name, left, right, _weight(group, name))
        for group, name in names
        if (left := a.fact(group, name)).value != (right := b.fact(group, name)).value
    ]
    return sorted(found, key=_rank)


def _weight(group: str, name: str) -> Weight:
    """The table's weight; a fact that this version does not know might matter to speed."""
    return _RANKED.get((group, name), (SPEED, 0))[0]


def _rank(difference: Difference) -> tuple[int, bool, int, int]:
    one_sided = difference.left.value is None or difference.right.value is None
    group = (
        CLASSES.index(difference.class_name)
        if difference.class_name in CLASSES
        else len(CLASSES)
    )
    place = _RANKED.get((difference.class_name, difference.fact), (SPEED, 10_000))[1]
    return WEIGHTS.index(difference.weight), one_sided, group, place
