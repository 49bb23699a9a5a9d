"""Compares two bundles of the same kind, and their environments."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...contracts.result import Contrast, Record
from ...errors import Deep500Error
from ...measure.machine import Difference, Environment, environment_difference
from ...reports.blocks import (
    Block,
    Bullets,
    Report,
    Sentence,
    Table,
    unverified,
)
from ...reports.in_notebooks import InNotebooks
from ...reports.text import clean
from ...results.outcomes.loads import different_loads
from ...schema import encoded
from .loading import load, one_line

DIFFERENCES_SHOWN = 12


@dataclass(frozen=True)
class BundleComparison(InNotebooks):
    """B compared with A; as they ran at different times, the result includes differences of their environments."""

    a: str
    b: str
    contrast: Contrast
    environments: tuple[Difference, ...]
    problems_of_a: Sequence[str] = ()
    problems_of_b: Sequence[str] = ()
    tests: Contrast | None = None  # of equivalence, if requested

    @property
    def equivalence(self) -> str:
        """The verdict of the tests of equivalence; empty if none were requested."""
        return self.tests.equivalence if self.tests else ""

    @property
    def worse(self) -> Sequence[str]:
        """The names of the measurements that are worse in B."""
        return self.contrast.worse

    @property
    def lost(self) -> Sequence[str]:
        """What cannot be compared because one side lacks it, a sentence each."""
        return self.contrast.lost

    @property
    def verified(self) -> bool:
        return not (self.problems_of_a or self.problems_of_b)

    def to_json(self) -> dict[str, Any]:
        problems = {
            "a": list(self.problems_of_a),
            "b": list(self.problems_of_b),
        }
        content: dict[str, Any] = {
            "a": self.a,
            "b": self.b,
            "verified": self.verified,
            "problems": problems,
        }
        content |= encoded(self.contrast.data)
        if self.tests:
            content |= encoded(self.tests.data)
        content["environment"] = [asdict(fact) for fact in self.environments]
        return content

    def report(self) -> Report:
        """The page: the answer first, then both results side by side."""
        title = f"{Path(self.b).name} against {Path(self.a).name}"
        return Report("Deep500 comparison", title, self.blocks())

    def blocks(self) -> list[Block]:
        blocks: list[Block] = []
        blocks += unverified(self.problems_of_a, "A")
        blocks += unverified(self.problems_of_b, "B")
        answer = self.contrast.answer
        if self.tests and self.tests.answer:
            answer = self.tests.answer
        if answer:
            blocks.append(answer)
        blocks.append(Bullets([f"A: {clean(self.a)}", f"B: {clean(self.b)}"]))
        if self.tests:
            blocks += self.tests.blocks
        blocks += self.contrast.blocks
        blocks += environment_blocks(self.environments)
        return blocks


def compare(
    a: Path,
    b: Path,
    margin: float = 0.02,
    level: float = 0.95,
    equivalent: float | None = None,
) -> BundleComparison:
    """Compare two bundles; raises a Deep500Error if they are of different kinds.

    Bundles that do not verify are marked. `equivalent` tests whether two runs of recipes have the same quality, up to
    this margin in its unit.
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
        environment_a = Environment.from_json(first.environment)
        environment_b = Environment.from_json(second.environment)
        differences = environment_difference(environment_a, environment_b)
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


def environment_blocks(differences: Sequence[Difference]) -> list[Block]:
    rows = []
    for difference in differences:
        if difference.weight == "context only":
            continue
        fact = clean(difference.fact)
        value_a, value_b = clean(difference.left), clean(difference.right)
        rows.append([fact, value_a, value_b, difference.weight])
    loads = different_loads(differences)
    if not rows:
        others = loads or "The environments differ in nothing that can matter."
        return [Sentence(others)]
    facts = "1 fact" if len(rows) == 1 else f"{len(rows)} facts"
    return [
        Sentence(f"The environments differ in {facts} that can matter:"),
        Table(["fact", "A", "B", "it"], rows[:DIFFERENCES_SHOWN], "lttl"),
        Sentence(loads),
    ]
