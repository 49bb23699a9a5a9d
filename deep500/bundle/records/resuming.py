"""Checks before a run is resumed whether its folder holds the same run, and whether that is finished."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import bundle
from ...contracts.result import Record, ResultKind, result_kind
from ...errors import Deep500Error
from ..encoding import MANIFEST
from .loading import record_of

# a hash of other entries, and what the ledger had when the run began
NOT_THE_PLAN = ("hash", "ledger")


def finished_record(
    kind: str, plan: Mapping[str, Any], folder: str | Path
) -> Record | None:
    """The record of a finished run of this plan; None if there is none. Raises a Deep500Error if the plans differ."""
    if not (Path(folder) / MANIFEST).is_file():
        return None
    existing = bundle.read(folder)
    plan_as_read = json.loads(bundle.canonical(dict(plan)))
    check_same_plan(folder, result_kind(kind), plan_as_read, existing)
    record = record_of(existing)
    if record.problems:
        first_problem = record.problems[0]
        raise Deep500Error(
            f"{folder} is finished and does not verify: {first_problem} (see all with `d5 verify`)"
        )
    return record


def check_same_plan(
    folder: str | Path,
    kind: ResultKind,
    plan: Mapping[str, Any],
    existing: bundle.Bundle,
) -> None:
    """Raise a Deep500Error that names the entries of a plan that differ from those of the existing bundle."""
    recorded = existing.documents.get("plan.json")
    if existing.kind != kind.name or not isinstance(recorded, dict):
        raise Deep500Error(f"{folder} holds no {kind.name}: choose another folder")
    changed = []
    for name, value in plan.items():
        if name not in NOT_THE_PLAN and recorded.get(name) != value:
            changed.append(name)
    if changed:
        entries = ", ".join(changed)
        raise Deep500Error(
            f"{folder} was begun with another recipe or settings ({entries}): give the same again, or "
            "another folder"
        )
