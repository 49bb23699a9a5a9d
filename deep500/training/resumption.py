"""Where a recipe's run was resumed, and how the environment differed from the one in which it had begun."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..measure.machine.facts import Value, is_value
from ..schema import named


@dataclass(frozen=True, kw_only=True)
class FactChange:
    """A fact of environment.json with its value there and its value now; None is unknown."""

    class_name: str = named("class")
    fact: str
    was: Value | None
    now: Value | None

    def __post_init__(self) -> None:
        for value in (self.was, self.now):
            if value is not None and not is_value(value):
                raise ValueError("a fact with two values that it may have")


@dataclass(frozen=True)
class ResumptionNote:
    """In the first block after a resumption: when, and what was different there."""

    at: str
    changes: Sequence[FactChange]


@dataclass(frozen=True)
class Resumption:
    """One resumption: the seed that was being trained, and how many of its epochs were done."""

    seed: int
    epochs: int
    at: str
    changes: Sequence[FactChange]
