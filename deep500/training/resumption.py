"""Reads where a recipe's run was resumed, and how the environment differed from the one in which it had begun.

The first block after a resumption holds "resumed": {"at", "changes"}; a change is {"class", "fact", "was", "now"}: a
fact of environment.json with its value there and its value in the process that resumed (null: unknown).
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
    resumed: list[Resumption] = []
    epochs_by_seed: dict[int, int] = {}
    for block in blocks:
        seed = block["seed"]
        epochs = epochs_by_seed.get(seed, 0)
        if "resumed" in block:
            about = block["resumed"]
            resumed.append(Resumption(seed, epochs, about["at"], about["changes"]))
        if "evaluation" in block:
            epochs_by_seed[seed] = epochs + 1
    return resumed


def is_resumption(value: object) -> bool:
    """Whether the "resumed" of a block is well-formed; the file is not trusted."""
    if not isinstance(value, dict) or value.keys() != {"at", "changes"}:
        return False
    changes = value["changes"]
    if not isinstance(value["at"], str) or not isinstance(changes, list):
        return False
    return all(is_change(change) for change in changes)


def is_change(value: object) -> bool:
    """Whether this is a fact with its two values, either of which may be null."""
    if not isinstance(value, dict) or value.keys() != CHANGE:
        return False
    if not isinstance(value["class"], str):
        return False
    if not isinstance(value["fact"], str):
        return False
    before, after = value["was"], value["now"]
    if before is not None and not is_value(before):
        return False
    return after is None or is_value(after)
