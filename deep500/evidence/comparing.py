"""Two bundles of one kind side by side, and what differs between their environments."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..contracts.result import Contrast, Record
from ..errors import Deep500Error
from ..measure.machine import Difference, Environment, environment_difference
from ..reports.blocks import Block, Sentence, Table, unverified
from ..reports.text import clean
from .loading import load, one_line

DIFFERENCES_SHOWN = 12


@dataclass(frozen=True)
class BundleComparison:
    """B against A; the two ran at different times, so the environments belong to the answer."""

    a: str
    b: str
    contrast: Contrast
    environments: tuple[Difference, ...]
    problems_of_a: Sequence[str] = ()
    problems_of_b: Sequence[str] = ()
    tests: Contrast | None = None  # of equivalence, if these were asked for

    @property
    def equivalence(self) -> str:
        """The verdict of the tests of equivalence; empty if none were asked for."""
        return self.tests.data["equivalence"]["verdict"] if self.tests else ""

    @property
    def worse(self) -> Sequence[str]:
        """The names of what is worse in B."""
        return self.contrast.worse

    @property
    def verified(self) -> bool:
        return not (self.problems_of_a or self.problems_of_b)

    def to_json(self) -> dict[str, Any]:
        about = {
            "a": self.a,
            "b": self.b,
            "verified": self.verified,
            "problems": {"a": list(self.problems_of_a), "b": list(self.problems_of_b)},
        }
        environments = [asdict(difference) for difference in self.environments]
        tests = self.tests.data if self.tests else {}
        return about | {**self.contrast.data, **tests, "environment": environments}

    def blocks(self) -> list[Block]:
        sides = Sentence(f"A: {clean(self.a)}\nB: {clean(self.b)}")
        problems = [
            *unverified(self.problems_of_a, "A"),
            *unverified(self.problems_of_b, "B"),
        ]
        tests = self.tests.blocks if self.tests else []
        environments = _environments(self.environments)
        return [*problems, sides, *tests, *self.contrast.blocks, *environments]


def compare_bundles(
    a: Path,
    b: Path,
    margin: float = 0.02,
    level: float = 0.95,
    equivalent: float | None = None,
) -> BundleComparison:
    """Compare two bundles, marking what does not verify; raises a Deep500Error if they are of different kinds.

    `equivalent` asks whether two runs of recipes are of the same quality, up to this much of its unit.
    """
    first, second = _with_numbers(a), _with_numbers(b)
    if first.kind != second.kind:
        raise Deep500Error(
            f"{a} is of kind {first.kind.name!r} and {b} of kind {second.kind.name!r}: "
            "only two results of one kind can be compared"
        )
    with one_line(f"{a} and {b} cannot be compared"):
        contrast = first.kind.compare(first, second, margin, level)
        tests = None
        if equivalent is not None:
            tests = first.kind.equivalence(first, second, equivalent, level)
        differences = environment_difference(
            Environment.from_json(first.environment),
            Environment.from_json(second.environment),
        )
    return BundleComparison(
        str(a),
        str(b),
        contrast,
        tuple(differences),
        first.problems,
        second.problems,
        tests,
    )


def _with_numbers(path: Path) -> Record:
    record = load(path)
    if record.derived is None:
        raise Deep500Error(
            f"{path} holds no result yet: nothing can be compared with it"
        )
    return record


def _environments(differences: Sequence[Difference]) -> list[Block]:
    matter = [d for d in differences if d.weight != "context only"]
    if not matter:
        return [Sentence("The environments differ in nothing that can matter.")]
    rows = [[clean(d.fact), clean(d.left), clean(d.right), d.weight] for d in matter]
    facts = f"{len(matter)} fact{'s' * (len(matter) > 1)}"
    return [
        Sentence(f"The environments differ in {facts} that can matter:"),
        Table(["fact", "A", "B", "it"], rows[:DIFFERENCES_SHOWN], "lttl"),
    ]
