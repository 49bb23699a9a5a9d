"""The entries that a recipe may have: one row per key. A new entry is a new row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..definition import Definition
from .codec import Codec
from .dataset import Dataset
from .loss import Loss
from .precision import Precision
from .sampler import Sampler
from .scheme import Scheme
from .task import Task

Part = Literal["FIXED", "MUTABLE"]


@dataclass(frozen=True)
class Entry:
    """What a key holds, and which part it belongs to where a recipe does not say.

    `folder` has the definitions that a name stands for, and `contract` is what they must be. An entry of
    `definition` has two more keys, <key>_args and <key>_kwargs.
    """

    part: Part
    takes: Any  # types
    folder: str = ""
    contract: type = object
    definition: bool = False


def _definition(part: Part, folder: str, contract: type) -> Entry:
    return Entry(
        part, (str, type, Definition, Callable), folder, contract, definition=True
    )


TABLE: dict[str, Entry] = {
    "model": _definition("FIXED", "networks", object),
    "dataset": _definition("FIXED", "datasets", Dataset),
    "task": _definition("FIXED", "tasks", Task),
    "loss": _definition("FIXED", "losses", Loss),
    "train_sampler": _definition("FIXED", "samplers", Sampler),
    "procedure": _definition("FIXED", "", object),
    "epochs": Entry("FIXED", int),
    "batch_size": Entry("MUTABLE", int),
    "executor": Entry("MUTABLE", object),
    "executor_kwargs": Entry("MUTABLE", Mapping),
    "optimizer": Entry("MUTABLE", object, "optimizers", definition=True),
    "precision": _definition("MUTABLE", "precisions", Precision),
    "optimizers": Entry("MUTABLE", Mapping),
    "events": Entry("MUTABLE", (tuple, list)),
    "workers": Entry("MUTABLE", int),
    "ranks": Entry("MUTABLE", int),
    "transport": Entry("MUTABLE", str),
    "scheme": _definition("MUTABLE", "schemes", Scheme),
    "codec": _definition("MUTABLE", "codecs", Codec),
}
ALWAYS_NEEDED = ("dataset", "epochs", "batch_size", "executor")


def _all_entries() -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for key, entry in TABLE.items():
        entries[key] = entry
        if entry.definition:
            entries[f"{key}_args"] = Entry(entry.part, (tuple, list))
            entries[f"{key}_kwargs"] = Entry(entry.part, Mapping)
    return entries


ENTRIES = _all_entries()


def definition_keys() -> list[str]:
    """The keys whose entries are definitions."""
    return [key for key, entry in TABLE.items() if entry.definition]


def argument_keys(key: str) -> list[str]:
    """The entries with the arguments of a definition; none for another entry."""
    entry = TABLE.get(key)
    if entry is None or not entry.definition:
        return []
    return [f"{key}_args", f"{key}_kwargs"]


def subject_of(key: str) -> str:
    """The definition that an entry of arguments belongs to: "model" for "model_kwargs"; else the key itself."""
    for ending in ("_args", "_kwargs"):
        subject = key.removesuffix(ending)
        if subject != key and subject in TABLE:
            return subject
    return key
