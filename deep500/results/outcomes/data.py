"""What the report of a recipe's run is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...contracts.metric import History
from ...contracts.result import Blocks, Record
from ...contracts.shapes import check_object
from ...errors import Deep500Error
from ...reports.text import clean
from ...training.outcome import histories
from ...training.resumption import Resumption, resumptions

SHOWN_OF_RECIPE = {"name": str, "fixed": dict, "mutable": dict}
SHOWN_OF_PLAN = {"seeds": list, "epochs": int, "hash": str, "tier": str}
# The entries that version 0.1.0 did not write.
OPTIONAL = {"fixed_hash": str, "division": str, "scale": dict, "sources": dict}
SOURCE = {"name": str, "source": (str, type(None))}
LONGEST_TITLE = 100


@dataclass(frozen=True)
class OutcomeData:
    """A recipe's run; `derived` is None as long as no seed has been trained to its end."""

    title: str
    plan: Mapping[str, Any]
    environment: Mapping[str, Any]
    runs: Sequence[History]
    resumptions: Sequence[Resumption]
    derived: Mapping[str, Any] | None
    finished: bool
    bundle: str
    hash: str | None
    blocks: Blocks = ()

    @property
    def metrics(self) -> list[dict[str, Any]]:
        return self.derived["metrics"] if self.derived else []

    @property
    def trained_seeds(self) -> list[int]:
        """The seeds that were trained to their end."""
        return self.derived["seeds"] if self.derived else []


def outcome_data(record: Record) -> OutcomeData:
    """The parts of a record that the report shows."""
    name = clean(record.plan["recipe"]["name"])
    return OutcomeData(
        title=name[:LONGEST_TITLE],
        plan=record.plan,
        environment=record.environment,
        runs=histories(record.blocks),
        resumptions=resumptions(record.blocks),
        derived=record.derived,
        finished=record.finished,
        bundle=str(record.bundle),
        hash=record.hash,
        blocks=record.blocks,
    )


def check_shown(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan, if it also has the parts that are shown, on top of those that the numbers need."""
    _check_types(plan["recipe"], SHOWN_OF_RECIPE)
    _check_types(plan, SHOWN_OF_PLAN)
    _check_division(plan)
    _check_own_code(plan["recipe"])
    return plan


def _check_own_code(recipe: Mapping[str, Any]) -> None:
    """Raises a Deep500Error if the own files of a recipe are not names with hashes."""
    if not isinstance(recipe.get("file"), str | None):
        raise Deep500Error("plan.json: the recipe's file is not a hash")
    if "code" not in recipe:
        return
    where = "plan.json: own code"
    code = check_object(where, recipe["code"], {"files": dict, "fixed": dict})
    for files in (code["files"], code["fixed"]):
        check_object(where, files, dict.fromkeys(files, str))


def _check_types(document: Mapping[str, Any], shape: Mapping[str, type]) -> None:
    for key, kind in shape.items():
        if not isinstance(document.get(key), kind):
            raise Deep500Error(
                f"plan.json has no usable {key!r}: see what is wrong with `d5 verify`"
            )


def _check_division(plan: Mapping[str, Any]) -> None:
    """Raises a Deep500Error if an entry that version 0.1.0 did not write is there with another form."""
    present = {key: kind for key, kind in OPTIONAL.items() if key in plan}
    check_object("plan.json", plan, present)
    for entry in plan.get("sources", {}).values():
        check_object("plan.json: a source", entry, SOURCE)
    differences = plan.get("differences", [])
    if not isinstance(differences, list):
        raise Deep500Error("plan.json: the differences are not a list")
    for difference in differences:
        if not isinstance(difference, list) or len(difference) != 3:
            raise Deep500Error("plan.json: a difference is not a key with two values")
