"""How two environments differ, the most important differences first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .facts import CLASSES, Environment, Fact
from .table import (
    SPEED,
    TABLE,
    WEIGHTS,
    Weight,
)


def _ranked() -> dict[tuple[str, str], tuple[Weight, int]]:
    """The weight and the place in the table of every fact, by its class and name."""
    ranked = {}
    for name in CLASSES:
        for place, row in enumerate(TABLE[name]):
            ranked[name, row.fact] = (row.weight, place)
    return ranked


_RANKED = _ranked()


@dataclass(frozen=True)
class Difference:
    """One fact that differs, or that is known on one side only."""

    class_name: str
    fact: str
    left: Fact
    right: Fact
    weight: Weight


def environment_difference(a: Environment, b: Environment) -> list[Difference]:
    """The differences, ordered by weight, then facts that both sides know first, then by the table's order."""
    differences = []
    for group, name in _fact_names(a, b):
        left = a.fact(group, name)
        right = b.fact(group, name)
        if left.value != right.value:
            weight = _weight(group, name)
            differences.append(
                Difference(
                    class_name=group,
                    fact=name,
                    left=left,
                    right=right,
                    weight=weight,
                )
            )
    return sorted(differences, key=_rank)


def _fact_names(*environments: Environment) -> Iterable[tuple[str, str]]:
    """The class and name of every fact of any of them, each once."""
    names: dict[tuple[str, str], None] = {}
    for env in environments:
        for group, facts in env.classes.items():
            for name in facts:
                names[group, name] = None
    return names


def _weight(group: str, name: str) -> Weight:
    """The weight of a fact in the table; a fact unknown to this version may change speed."""
    weight, _ = _RANKED.get((group, name), (SPEED, 0))
    return weight


def _rank(difference: Difference) -> tuple[int, bool, int, int]:
    name = difference.class_name
    one_sided = difference.left.value is None or difference.right.value is None
    group = CLASSES.index(name) if name in CLASSES else len(CLASSES)
    _, place = _RANKED.get((name, difference.fact), (SPEED, 10_000))
    return WEIGHTS.index(difference.weight), one_sided, group, place
