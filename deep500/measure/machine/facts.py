"""An environment as data: nine classes of facts, each with its source, or the reason why it is unknown."""

from __future__ import annotations

import math
import reprlib
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import Deep500Error

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
        top = _dictionary(data, "environment")
        version = top.get("format")
        if type(version) is not int or version != FORMAT:
            raise Deep500Error(
                f"The environment has format {_shown(version)}, and this version reads {FORMAT}; "
                "read it with the version that wrote it."
            )
        classes = _dictionary(top.get("classes"), "'classes' of the environment")
        if set(classes) != set(CLASSES):
            odd = sorted(set(classes) ^ set(CLASSES))
            raise Deep500Error(
                f"The environment must hold nine classes; missing or unknown: {_shown(odd)}."
            )
        facts = {group: _facts(group, classes[group]) for group in CLASSES}
        return Environment(facts)


def _facts(group: str, data: object) -> dict[str, Fact]:
    facts = {}
    members = _dictionary(data, f"class {group!r}")
    for name, fields in members.items():
        full_name = f"{_shown(name)} of {group!r}"
        facts[name] = _fact(full_name, fields)
    return facts


def _fact(name: str, data: object) -> Fact:
    fields = _dictionary(data, f"fact {name}")
    if set(fields) != {"value", "source", "unavailable"}:
        keys = _shown(sorted(fields))
        raise Deep500Error(
            f"Fact {name} must hold value, source and unavailable; it holds {keys}."
        )
    value = fields["value"]
    source = fields["source"]
    reason = fields["unavailable"]
    is_reason = reason is None or (_is_text(reason) and reason)
    if not _is_text(source) or not is_reason:
        texts = _shown([source, reason])
        raise Deep500Error(
            f"The source and reason of fact {name} must be printable text; they are {texts}."
        )
    has_either = (value is None) != (reason is None)
    is_plain = value is None or is_value(value)
    if not has_either or not is_plain:
        pair = _shown([value, reason])
        raise Deep500Error(
            f"Fact {name} must have either a plain value or a reason; it has {pair}."
        )
    return Fact(value, source, reason)


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


def _dictionary(data: object, name: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Deep500Error(f"The {name} must be a dictionary; it is {_shown(data)}.")
    for key in data:
        if not _is_text(key):
            raise Deep500Error(
                f"The names in the {name} must be printable text; one is {_shown(key)}."
            )
    return data


def _shown(value: object) -> str:
    try:
        return reprlib.repr(value)
    except ValueError:
        # Python refuses to write out numbers of thousands of digits
        return "a huge number"
