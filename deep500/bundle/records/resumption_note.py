"""The note of a resumed run: the time, and the differences from the environment in which it had begun."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ...errors import Deep500Error
from ...measure.machine import (
    Difference,
    Environment,
    environment,
    environment_difference,
)
from ...measure.machine.table import CONTEXT
from ...training.resumption import FactChange, ResumptionNote

MACHINE = "host name"  # only context for a measurement, but it shows that the machine is another one


def resumption_note(begun_in: Mapping[str, Any]) -> ResumptionNote:
    """The note for a run whose environment.json is `begun_in`, resumed by this process."""
    before = recorded_environment(begun_in)
    changes = []
    for difference in environment_difference(before, environment()):
        if difference.weight != CONTEXT or difference.fact == MACHINE:
            changes.append(_change(difference))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return ResumptionNote(now, changes)


def recorded_environment(document: Mapping[str, Any]) -> Environment:
    """The environment of environment.json; an empty one if this version cannot read it."""
    try:
        return Environment.from_json(document)
    except Deep500Error:
        return Environment({})


def _change(difference: Difference) -> FactChange:
    return FactChange(
        class_name=difference.class_name,
        fact=difference.fact,
        was=difference.left.value,
        now=difference.right.value,
    )
