"""What the report of a recipe's run shows: its numbers, computed from the samples, never taken on trust."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..bundle import Bundle
from ..contracts.metric import History
from ..errors import Deep500Error
from ..evidence.verification import verify
from ..training.outcome import (
    check_blocks,
    check_plan,
    histories,
    outcome,
)
from .text import clean


@dataclass(frozen=True)
class OutcomeData:
    """A recipe's run; `derived` is None as long as no seed has been trained to its end."""

    title: str
    plan: Mapping[str, Any]
    environment: Mapping[str, Any]
    runs: Sequence[History]
    derived: Mapping[str, Any] | None
    finished: bool
    bundle: str
    hash: str | None
    problems: Sequence[str]

    @property
    def metrics(self) -> list[dict[str, Any]]:
        return self.derived["metrics"] if self.derived else []

    @property
    def done(self) -> list[int]:
        """The seeds that were trained to their end."""
        return self.derived["seeds"] if self.derived else []


def outcome_data(found: Bundle) -> OutcomeData:
    """Of a bundle of kind "recipe"; one from anyone is shown as text or refused in one line."""
    environment = found.documents.get("environment.json")
    if found.kind != "recipe" or not isinstance(environment, dict):
        raise Deep500Error(
            f"{found.path} is no bundle of a recipe's run, or has no environment.json; see `d5 verify`"
        )
    try:
        plan = _checked(check_plan(found.documents.get("plan.json")))
        blocks = check_blocks(found.blocks)
        ended = any("test" in block for block in blocks)
        derived = outcome(plan, blocks) if ended else None
        problems = verify(found.path).problems if found.finished else found.problems
    except (
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # numbers that no training leaves
        raise Deep500Error(
            f"{found.path}: its samples do not give the metrics of its plan "
            f"({type(error).__name__}: {clean(error)[:100]})"
        ) from None
    return OutcomeData(
        clean(plan["recipe"]["name"])[:100],
        plan,
        environment,
        histories(blocks),
        derived,
        found.finished,
        str(found.path),
        found.hash,
        tuple(problems),
    )


def _checked(plan: dict[str, Any]) -> dict[str, Any]:
    """The parts that are shown, on top of those that are needed for the numbers."""
    recipe = plan["recipe"]
    for document, shape in (
        (recipe, {"name": str, "fixed": dict, "mutable": dict}),
        (plan, {"seeds": list, "epochs": int, "hash": str, "tier": str}),
    ):
        for key, kind in shape.items():
            if not isinstance(document.get(key), kind):
                raise Deep500Error(
                    f"plan.json has no usable {key!r}: see what is wrong with `d5 verify`"
                )
    return plan
