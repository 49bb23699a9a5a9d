"""Go on with a run: whether a folder holds the same one, and whether that is finished."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import bundle
from ..bundle.encoding import MANIFEST
from ..contracts.result import Record, ResultKind, result_kind
from ..errors import Deep500Error
from .loading import record_of


def finished_record(
    kind: str, plan: Mapping[str, Any], folder: str | Path
) -> Record | None:
    """The record of a finished run of this plan; None if there is none, a Deep500Error if it is another's."""
    if not (Path(folder) / MANIFEST).is_file():
        return None
    found = bundle.read(folder)
    check_same_plan(
        folder, result_kind(kind), json.loads(bundle.canonical(dict(plan))), found
    )
    record = record_of(found)
    if record.problems:
        raise Deep500Error(
            f"{folder} is finished and does not verify: {record.problems[0]} (see all with `d5 verify`)"
        )
    return record


def check_same_plan(
    folder: str | Path, kind: ResultKind, plan: Mapping[str, Any], found: bundle.Bundle
) -> None:
    """A Deep500Error that names the entries of a plan that a bundle does not hold in the same form."""
    recorded = found.documents.get("plan.json")
    if found.kind != kind.name or not isinstance(recorded, dict):
        raise Deep500Error(f"{folder} holds no {kind.name}: choose another folder")
    other = [
        name for name in plan if name != "hash" and recorded.get(name) != plan[name]
    ]
    if other:
        raise Deep500Error(
            f"{folder} was begun with another recipe or settings ({', '.join(other)}): give the same again, or "
            "another folder"
        )
