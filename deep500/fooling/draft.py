"""A bundle that can be changed and written again, with every hash and every derived number in order."""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..bundle import create, read
from ..contracts.result import derived_document, derived_numbers, result_kind
from ..errors import Deep500Error
from ..hashing.canonical_form import form_hash
from ..hashing.own_code import fixed_form_hash

DERIVED = "derived.json"
FIRST = ("plan.json", "environment.json")
MANIFEST = "manifest.json"


@dataclass
class Draft:
    """The parts of a finished bundle."""

    kind: str
    documents: dict[str, Any]
    blocks: list[dict[str, Any]]
    files: dict[str, bytes]
    created: str
    finished: str

    @property
    def plan(self) -> dict[str, Any]:
        return self.documents["plan.json"]

    @property
    def environment(self) -> dict[str, Any]:
        return self.documents["environment.json"]

    @property
    def metrics(self) -> list[Any]:
        """The metrics of a recipe with their targets."""
        return self.plan["recipe"]["metrics"]

    def copy(self) -> "Draft":
        return copy.deepcopy(self)

    def seal(self, folder: Path) -> None:
        """Write it as a bundle that verifies."""
        kind = result_kind(self.kind)
        if self.kind == "recipe":
            self.plan["hash"] = form_hash(self.plan["recipe"])
            self.plan["fixed_hash"] = fixed_form_hash(self.plan["recipe"])
        plan = kind.check_plan(self.plan)
        derived = derived_numbers(kind, plan, kind.check_blocks(plan, self.blocks))
        if derived is None:
            raise Deep500Error(f"{folder}: nothing was measured")
        first = {name: self.documents[name] for name in FIRST}
        last = {k: v for k, v in self.documents.items() if k not in (*FIRST, DERIVED)}
        last[DERIVED] = derived_document(kind, derived)
        writer = create(folder, first, self.kind, self.created)
        for block in self.blocks:
            writer.append(block)
        writer.finish(last, self.files, self.finished)


def draft_of(path: Path) -> Draft:
    """The draft of a bundle that verifies."""
    bundle = read(path)
    if not bundle.finished or bundle.problems:
        problem = bundle.problems[0] if bundle.problems else "it is not finished"
        raise Deep500Error(f"{path} is no honest bundle to begin with: {problem}")
    documents: dict[str, Any] = {**bundle.documents}
    manifest = documents.pop(MANIFEST)
    names = [name for name in bundle.files if name not in documents]
    files = {name: bundle.load(name) for name in names}
    return Draft(
        bundle.kind,
        copy.deepcopy(documents),
        copy.deepcopy(list(bundle.blocks)),
        files,
        bundle.created,
        manifest["finished"],
    )
