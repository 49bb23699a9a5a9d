"""The result contract: what a kind of result records, which numbers follow from it, and what its report shows.

A kind is one class in one file, `results/<kind>.py`; the name of the file is the `kind` of its bundles. `d5 verify`,
`show`, `report`, `compare` and `list` ask this contract and never the kind. A bundle may come from anyone, so plan and
blocks are checked before anything else sees them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from .. import registry
from ..definition import Definition
from ..errors import Deep500Error, did_you_mean, lacking
from ..reports.blocks import Block, Report

Plan = Mapping[str, Any]
Blocks = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Record:
    """One result: just recorded, or read from a bundle and checked."""

    kind: "ResultKind"
    plan: Plan
    blocks: Blocks
    derived: (
        Mapping[str, Any] | None
    )  # None while there are too few blocks for any number
    environment: Mapping[str, Any]
    finished: bool = True
    bundle: str | None = None  # where it lies
    hash: str | None = None
    problems: Sequence[str] = ()
    sensors: Mapping[str, Any] | None = None

    @property
    def verified(self) -> bool:
        """Whether every hash holds and every number that it claims follows from its blocks."""
        return not self.problems

    def report(self) -> Report:
        """What is shown of it, with whatever does not verify on top."""
        return replace(self.kind.report(self), problems=self.problems)

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints: the numbers, and which bundle they belong to."""
        about = {
            "kind": self.kind.name,
            "bundle": self.bundle,
            "hash": self.hash,
            "finished": self.finished,
            "verified": self.verified,
            "problems": list(self.problems),
        }
        return about | self.kind.numbers(self)


@dataclass(frozen=True)
class Contrast:
    """Result B against result A: as data, as blocks of a report, and the names of what is worse in B."""

    data: Mapping[str, Any]
    blocks: Sequence[Block]
    worse: Sequence[str] = ()


class ResultKind(Definition):
    """A kind of result. `derive` is a pure function, so that anyone can compute every number again."""

    procedure: ClassVar[int] = (
        1  # counts up when the same blocks would give other numbers
    )
    measurement: ClassVar[bool] = (
        True  # `d5 show` without a name skips a kind that is none
    )

    @property
    def name(self) -> str:
        return registry.file_stem(type(self).__name__)

    def check_plan(self, plan: object) -> dict[str, Any]:
        """The plan, if it has the form that the numbers and the report need; else a Deep500Error."""
        raise lacking(self, "check_plan")

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        """The blocks of samples.jsonl, if they fit the plan; else a Deep500Error."""
        raise lacking(self, "check_blocks")

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        """Every number that is reported; None while there are too few blocks for any."""
        raise lacking(self, "derive")

    def report(self, record: Record) -> Report:
        """What is shown of a result, as blocks; its problems are put on top of them."""
        raise lacking(self, "report")

    def numbers(self, record: Record) -> dict[str, Any]:
        """What `--json` prints of a result."""
        return dict(record.derived or {})

    def accepted(self, record: Record) -> bool:
        """Whether the verb that recorded it exits with 0."""
        return True

    def exit_code(self, record: Record) -> int:
        """0 good, 1 a check said no, 3 not decided."""
        return 0 if self.accepted(record) else 1

    def check_files(self, blocks: Blocks, files: Mapping[str, str]) -> list[str]:
        """What is wrong with the other files of a finished bundle, given as name and SHA-256."""
        return []

    def compare(self, a: Record, b: Record, margin: float, level: float) -> Contrast:
        """B against A. A kind whose results cannot be compared leaves this out."""
        raise Deep500Error(
            f"two results of kind {self.name!r} cannot be compared: "
            f"`d5 compare` takes {', '.join(comparable_kinds())}"
        )

    def equivalence(
        self, a: Record, b: Record, margin: float, level: float
    ) -> Contrast:
        """Whether A and B are the same up to a margin in the unit of their qualities; for kinds that have some."""
        raise Deep500Error(
            f"two results of kind {self.name!r} have no qualities: --equivalent is for runs of recipes"
        )


def result_kind(name: str) -> ResultKind:
    """The kind of that name; only files of `results/` and entry points are looked at, whatever a bundle says."""
    classes = {registry.file_stem(known): known for known in registry.known("results")}
    if name not in classes:
        raise Deep500Error(
            f"the kind {name[:40]!r} is not known to this version; there are: {', '.join(classes)}."
            f"{did_you_mean(name[:40], classes)}"
        )
    return registry.find("results", classes[name])()


def derived_numbers(
    kind: ResultKind, plan: Plan, blocks: Blocks
) -> dict[str, Any] | None:
    """What derived.json holds: the numbers and the procedure they were computed by."""
    numbers = kind.derive(plan, blocks)
    return None if numbers is None else {"procedure": kind.procedure, **numbers}


def comparable_kinds() -> list[str]:
    """The names of the kinds that define `compare`."""
    classes: list[Any] = [
        registry.find("results", name) for name in registry.known("results")
    ]
    return [
        registry.file_stem(c.__name__)
        for c in classes
        if c.compare is not ResultKind.compare
    ]
