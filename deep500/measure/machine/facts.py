"""An environment as data: nine classes of facts, each with its source, or the reason why it is unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import Deep500Error
from ...schema import decoded

Value = str | int | float | bool | list[str]

FORMAT = 1
CLASSES = (
    "hardware compute",
    "hardware memory",
    "hardware network",
    "software compiler",
    "software runtime",
    "software storage",
    "benchmark input and software",
    "benchmark measurement setup",
    "benchmark source code",
)


@dataclass(frozen=True)
class Fact:
    """One fact: a value with its source, or None with the reason in `unavailable`."""

    value: Value | None
    source: str
    unavailable: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            return f"unknown ({self.unavailable})"
        if isinstance(self.value, list):
            return "; ".join(self.value)
        return str(self.value)


@dataclass(frozen=True)
class UnknownFact:
    class_name: str
    fact: str
    reason: str


@dataclass(frozen=True)
class Completeness:
    """How much of an environment is known; a fact that does not apply ("none found") is known."""

    known: int
    total: int
    unknown: tuple[UnknownFact, ...]

    @property
    def fraction(self) -> float:
        if not self.total:
            return 0.0
        return self.known / self.total


@dataclass(frozen=True)
class Environment:
    """The nine classes of the checklist of Hoefler and Belli (SC'15, Rule 9), filled by `environment()`."""

    classes: dict[str, dict[str, Fact]]

    def fact(self, class_name: str, name: str) -> Fact:
        """The fact of that name; one that was never captured is an unknown fact."""
        missing = Fact(None, "", "not recorded")
        facts = self.classes.get(class_name, {})
        return facts.get(name, missing)

    @property
    def completeness(self) -> Completeness:
        total = 0
        unknown = []
        for group, facts in self.classes.items():
            total += len(facts)
            for name, fact in facts.items():
                if fact.value is None:
                    reason = fact.unavailable or ""
                    unknown.append(UnknownFact(group, name, reason))
        known_count = total - len(unknown)
        return Completeness(known_count, total, tuple(unknown))

    def to_json(self) -> dict[str, Any]:
        """A dictionary that `json.dumps` takes as it is."""
        return {"format": FORMAT, **asdict(self)}

    @staticmethod
    def from_json(data: object) -> Environment:
        """The environment of a dictionary written by `to_json`; anything else is a Deep500Error."""
        document = decoded(EnvironmentDocument, data, "environment.json")
        if document.format != FORMAT:
            raise Deep500Error(
                f"environment.json has format {document.format}, and this version reads {FORMAT}; "
                "read it with the version that wrote it"
            )
        if {*document.classes} != {*CLASSES}:
            raise Deep500Error("environment.json does not hold the nine classes")
        classes = {group: dict(document.classes[group]) for group in CLASSES}
        for facts in classes.values():
            for name, fact in facts.items():
                _check_fact(name, fact)
        return Environment(classes)


@dataclass(frozen=True)
class EnvironmentDocument:
    """environment.json, whose facts are still to be checked."""

    format: int
    classes: Mapping[str, Mapping[str, Fact]]


def _check_fact(name: str, fact: Fact) -> None:
    """Raise a Deep500Error for a fact that nobody could show."""
    reason = fact.unavailable
    is_reason = reason is None or bool(_is_text(reason) and reason)
    are_texts = _is_text(name) and _is_text(fact.source) and is_reason
    has_either = (fact.value is None) != (reason is None)
    is_plain = fact.value is None or is_value(fact.value)
    if not (are_texts and has_either and is_plain):
        raise Deep500Error(
            f"environment.json: the fact {ascii(name)[:40]} has no plain value with a source, or no reason why not"
        )


def is_value(value: object) -> bool:
    """True for what a fact may hold: printable text, a list of it, a flag, a number of sane size."""
    if isinstance(value, list):
        return all(map(_is_text, value))
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return abs(value) < 2**64
    if isinstance(value, float):
        return math.isfinite(value)
    return _is_text(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()
