"""Where a recipe's run was resumed, and what differed there from where it was begun.

The first block after a resumption holds "resumed": {"at", "changes"}; a change is {"class", "fact", "was", "now"}, a
fact of environment.json and its value in the process that resumed (null: unknown).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..measure.machine.facts import is_value

CHANGE = {"class", "fact", "was", "now"}


@dataclass(frozen=True)
class Resumption:
    """One resumption: the seed that was being trained, and how many of its epochs were done."""

    seed: int
    epochs: int
    at: str
    changes: Sequence[Mapping[str, Any]]


def resumptions(blocks: Sequence[Mapping[str, Any]]) -> list[Resumption]:
    """All resumptions of a run, in order."""
    found: list[Resumption] = []
    epochs: dict[int, int] = {}
    for block in blocks:
        seed = block["seed"]
        if "resumed" in block:
            about = block["resumed"]
            found.append(
                Resumption(seed, epochs.get(seed, 0), about["at"], about["changes"])
            )
        epochs[seed] = epochs.get(seed, 0) + ("evaluation" in block)
    return found


def is_resumption(value: object) -> bool:
    """Whether a block's "resumed" has its form; the file may come from anyone."""
    if not isinstance(value, dict) or value.keys() != {"at", "changes"}:
        return False
    changes = value["changes"]
    return (
        isinstance(value["at"], str)
        and isinstance(changes, list)
        and all(is_change(change) for change in changes)
    )


def is_change(value: object) -> bool:
    """Whether this is a fact with its two values."""
    if not isinstance(value, dict) or value.keys() != CHANGE:
        return False
    if not isinstance(value["class"], str) or not isinstance(value["fact"], str):
        return False
    return all(value[side] is None or is_value(value[side]) for side in ("was", "now"))
