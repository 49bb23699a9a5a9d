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
        return (
            "; ".join(self.value) if isinstance(self.value, list) else str(self.value)
        )


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
        return self.known / self.total if self.total else 0.0


@dataclass(frozen=True)
class Environment:
    """The nine classes of the checklist of Hoefler and Belli (SC'15, Rule 9), filled by `environment()`."""

    classes: dict[str, dict[str, Fact]]

    def fact(self, class_name: str, name: str) -> Fact:
        """The fact of that name; one that was never captured is an unknown fact."""
        missing = Fact(None, "", "not recorded")
        return self.classes.get(class_name, {}).get(name, missing)

    @property
    def completeness(self) -> Completeness:
        facts = [
            (group, name, fact)
            for group, of in self.classes.items()
            for name, fact in of.items()
        ]
        missing = [
            (group, name, fact.unavailable)
            for group, name, fact in facts
            if fact.value is None
        ]
        unknown = [
            UnknownFact(group, name, reason or "") for group, name, reason in missing
        ]
        return Completeness(len(facts) - len(unknown), len(facts), tuple(unknown))

    def to_json(self) -> dict[str, Any]:
        """A dictionary that `json.dumps` takes as it is."""
        return {"format": FORMAT, **asdict(self)}

    @staticmethod
    def from_json(data: object) -> Environment:
        """The environment of a dictionary written by `to_json`; anything else is a Deep500Error."""
        top = _dictionary(data, "environment")
        if type(top.get("format")) is not int or top["format"] != FORMAT:
            raise Deep500Error(
                f"The environment has format {_shown(top.get('format'))}, and this version reads {FORMAT}; "
                "read it with the version that wrote it."
            )
        classes = _dictionary(top.get("classes"), "'classes' of the environment")
        if set(classes) != set(CLASSES):
            odd = sorted(set(classes) ^ set(CLASSES))
            raise Deep500Error(
                f"The environment must hold nine classes; missing or unknown: {_shown(odd)}."
            )
        return Environment({group: _facts(group, classes[group]) for group in CLASSES})


def _facts(group: str, data: object) -> dict[str, Fact]:
    facts = _dictionary(data, f"class {group!r}")
    return {
        name: _fact(f"{_shown(name)} of {group!r}", fact)
        for name, fact in facts.items()
    }


def _fact(name: str, data: object) -> Fact:
    fields = _dictionary(data, f"fact {name}")
    if set(fields) != {"value", "source", "unavailable"}:
        held = _shown(sorted(fields))
        raise Deep500Error(
            f"Fact {name} must hold value, source and unavailable; it holds {held}."
        )
    value, source, reason = fields["value"], fields["source"], fields["unavailable"]
    if not (_is_text(source) and (reason is None or (_is_text(reason) and reason))):
        told = _shown([source, reason])
        raise Deep500Error(
            f"The source and reason of fact {name} must be printable text; they are {told}."
        )
    if (value is None) == (reason is None) or not (value is None or is_value(value)):
        told = _shown([value, reason])
        raise Deep500Error(
            f"Fact {name} must have either a plain value or a reason; it has {told}."
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
    return _is_text(value) or (isinstance(value, float) and math.isfinite(value))


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
    except ValueError:  # Python refuses to write out numbers of thousands of digits
        return "a huge number"
