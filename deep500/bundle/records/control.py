"""The control of a gate: the base against itself, measured twice in one job; if they differ, nothing is decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...contracts.result import Record
from ...errors import Deep500Error
from ...schema import encoded
from .bundle_comparison import compare
from .loading import load

DIFFERENT = {"better", "worse", "slower", "faster", "different"}


@dataclass(frozen=True)
class Control:
    """What the base is against its own repetition."""

    a: str
    repetition: str
    comparisons: int
    differing: Sequence[str]  # names of what differs

    @property
    def holds(self) -> bool:
        return not self.differing

    @property
    def sentence(self) -> str:
        if self.holds:
            return f"control: A against its repetition shows no difference in {self.comparisons} comparisons"
        names = ", ".join(self.differing)
        return (
            f"CONTROL FAILED: A differs from its own repetition in {names}: in this job the machine makes differences "
            "of its own, so the gate is not decided"
        )


def control(a: Path, repetition: Path, margin: float, level: float) -> Control:
    """Compare the base with its repetition; raises a Deep500Error if that is something else."""
    first, second = load(a), load(repetition)
    if first.hash == second.hash:
        raise Deep500Error(
            f"{repetition} is the same result as {a}: a control is a second run of the same"
        )
    if _methods(first) != _methods(second):
        raise Deep500Error(
            f"{repetition} is no repetition of {a}: the recipe, what was measured, or how it was run differs"
        )
    found = compare(a, repetition, margin, level)
    answers = encoded(found.contrast.data).get("comparisons", [])
    differing = [
        str(answer["name"]) for answer in answers if answer["verdict"] in DIFFERENT
    ]
    return Control(str(a), str(repetition), len(answers), differing)


def _methods(record: Record) -> list[object]:
    """What was measured, and how: equal for two results that only time can tell apart."""
    return [one.standing.method for one in record.kind.contestants(record)]
