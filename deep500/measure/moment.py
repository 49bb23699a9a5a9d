"""What a run met on the machine just before it began."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """The share of the CPUs that others used just before a run (None if unknown), and how long the run waited."""

    others: float | None
    asked_s: float
    waited_s: float
