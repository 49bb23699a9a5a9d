"""The entries that a recipe may have: one row per key. A new entry is a new row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..definition import Definition
from .codec import Codec
from .dataset import Dataset
from .leaves import Leaves
from .loss import Loss
from .precision import Precision
from .sampler import Sampler
from .scheme import Scheme
from .task import Task

Part = Literal["FIXED", "MUTABLE"]


@dataclass(frozen=True)
class RecipeEntry:
    """The values that a key may have, and the part that it belongs to by default.

    Names are looked up in `folder`; definitions must be instances of `contract`. If `definition` is set, there are two
    more keys, <key>_args and <key>_kwargs.
    """

    part: Part
    takes: Any  # types
    folder: str = ""
    contract: type = object
    definition: bool = False


def _definition(part: Part, folder: str, contract: type) -> RecipeEntry:
    takes = (str, type, Definition, Callable)
    return RecipeEntry(part, takes, folder, contract, definition=True)


TABLE: dict[str, RecipeEntry] = {
    "model": _definition("FIXED", "networks", object),
    "dataset": _definition("FIXED", "datasets", Dataset),
    "task": _definition("FIXED", "tasks", Task),
    "loss": _definition("FIXED", "losses", Loss),
    "train_sampler": _definition("FIXED", "samplers", Sampler),
    "procedure": _definition("FIXED", "", object),
    "epochs": RecipeEntry("FIXED", int),
    "batch_size": RecipeEntry("MUTABLE", int),
    "executor": RecipeEntry("MUTABLE", object),
    "executor_kwargs": RecipeEntry("MUTABLE", Mapping),
    "optimizer": RecipeEntry("MUTABLE", object, "optimizers", definition=True),
    "precision": _definition("MUTABLE", "precisions", Precision),
    "optimizers": RecipeEntry("MUTABLE", Mapping),
    "events": RecipeEntry("MUTABLE", (tuple, list)),
    "workers": RecipeEntry("MUTABLE", int),
    "evaluate_every": RecipeEntry("MUTABLE", int),
    "reproducible": RecipeEntry("MUTABLE", (bool, int, str, Leaves)),
    "ranks": RecipeEntry("MUTABLE", int),
    "transport": RecipeEntry("MUTABLE", str),
    "scheme": _definition("MUTABLE", "schemes", Scheme),
    "codec": _definition("MUTABLE", "codecs", Codec),
}
ALWAYS_NEEDED = ("dataset", "epochs", "batch_size", "executor")


def _all_entries() -> dict[str, RecipeEntry]:
    entries: dict[str, RecipeEntry] = {}
    for key, entry in TABLE.items():
        entries[key] = entry
        if entry.definition:
            entries[f"{key}_args"] = RecipeEntry(entry.part, (tuple, list))
            entries[f"{key}_kwargs"] = RecipeEntry(entry.part, Mapping)
    return entries


ENTRIES = _all_entries()


def definition_keys() -> list[str]:
    """The keys whose entries are definitions."""
    return [key for key, entry in TABLE.items() if entry.definition]


def argument_keys(key: str) -> list[str]:
    """The keys of the arguments of a definition; none if the entry is not a definition."""
    entry = TABLE.get(key)
    if entry is None or not entry.definition:
        return []
    return [f"{key}_args", f"{key}_kwargs"]


def subject_of(key: str) -> str:
    """The definition to which arguments belong: "model" for "model_kwargs"; for any other key, the key itself."""
    for ending in ("_args", "_kwargs"):
        subject = key.removesuffix(ending)
        if subject != key and subject in TABLE:
            return subject
    return key
