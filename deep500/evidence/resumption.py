"""What a run that is resumed notes: when, and what differs from the environment in which it was begun."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import Deep500Error
from ..measure.machine import (
    Difference,
    Environment,
    environment,
    environment_difference,
)
from ..measure.machine.table import CONTEXT

MACHINE = "host name"  # context for a measurement, but another machine all the same


def resumption_note(begun_in: Mapping[str, Any]) -> dict[str, Any]:
    """The note for a run whose environment.json is `begun_in`, resumed by this process."""
    changes = []
    for difference in environment_difference(
        recorded_environment(begun_in), environment()
    ):
        if difference.weight != CONTEXT or difference.fact == MACHINE:
            changes.append(_change(difference))
    return {"at": datetime.now(UTC).isoformat(timespec="seconds"), "changes": changes}


def recorded_environment(document: Mapping[str, Any]) -> Environment:
    """The environment of environment.json; one that this version cannot read knows nothing."""
    try:
        return Environment.from_json(document)
    except Deep500Error:
        return Environment({})


def _change(difference: Difference) -> dict[str, Any]:
    return {
        "class": difference.class_name,
        "fact": difference.fact,
        "was": difference.left.value,
        "now": difference.right.value,
    }
