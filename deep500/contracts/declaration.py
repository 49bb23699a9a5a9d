"""The declaration contract: one thing that a publication, a bundle or a log says, and where it says it.

A subclass is a frozen dataclass whose fields are None where nothing is said. Rules judge declarations, and what a rule
finds refers to the file and the field that it rests on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

AuditVerdict = Literal["FAIL", "WARN", "PASS", "not applicable"]
VERDICTS: tuple[AuditVerdict, ...] = ("FAIL", "WARN", "PASS", "not applicable")
Fact = str | float | bool | Sequence[str] | Sequence[float] | None
DeclarationT = TypeVar("DeclarationT", bound="Declaration")


@dataclass(frozen=True)
class Evidence:
    """What a finding rests on: a file, a field in it, and the value there; None: nothing is said."""

    file: str
    field: str
    value: Fact


@dataclass(frozen=True)
class AuditFinding:
    """What one rule says of one declaration."""

    verdict: AuditVerdict
    text: str
    evidence: Sequence[Evidence] = ()


@dataclass(frozen=True)
class Origin:
    """Where a declaration was read: a file of a source and the place in it.

    `fields` has the places of fields that are elsewhere: "median", or "plan.json: seeds" in another file.
    """

    file: str = ""
    place: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    source: str = ""  # its name, if several are read

    def of(self, name: str) -> tuple[str, str]:
        """The file and the path in it of a field."""
        place = f"{self.place}/{name}" if self.place else name
        place = self.fields.get(name, place)
        file, separator, path = place.partition(": ")
        if not separator:
            file, path = self.file, place
        return (f"{self.source}/{file}" if self.source else file), path


NOWHERE = Origin()


def asked(question: str, example: object) -> Any:
    """A field of a declaration: what an author is asked for it, and an example of an answer."""
    metadata = {"optional": True, "question": question, "example": example}
    return field(default=None, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Base of all declarations; `name` is how a reader calls it."""

    name: str = field(
        default="",
        metadata={"question": "how a reader calls it", "example": "table 2, row 3"},
    )
    origin: Origin = field(default=NOWHERE, repr=False, compare=False)

    def at(
        self: DeclarationT, file: str, place: str = "", **fields: str
    ) -> DeclarationT:
        """The same declaration, read there; `fields` are the paths of fields that are elsewhere in that file."""
        return replace(self, origin=Origin(file, place, fields))

    def evidence(self, *names: str) -> list[Evidence]:
        """The fields of these names, with the places at which they are, or should be, said."""
        found = []
        for name in names:
            file, place = self.origin.of(name)
            found.append(Evidence(file, place, getattr(self, name)))
        return found

    def fails(self, text: str, *names: str) -> AuditFinding:
        return self._finding("FAIL", text, names)

    def warns(self, text: str, *names: str) -> AuditFinding:
        return self._finding("WARN", text, names)

    def passes(self, text: str, *names: str) -> AuditFinding:
        return self._finding("PASS", text, names)

    def _finding(
        self, verdict: AuditVerdict, text: str, names: Sequence[str]
    ) -> AuditFinding:
        sentence = f"{self.name}: {text}" if self.name else text
        return AuditFinding(verdict, sentence, self.evidence(*names))
