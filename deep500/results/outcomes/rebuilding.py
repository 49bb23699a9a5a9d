"""From the plan of a bundle back to a recipe that can be evaluated. Nothing that a bundle brings is ever run:

a definition is one of this installation, found in the registry by its name, or comes from the recipe's file that the
user names.
"""

import re
from collections.abc import Mapping
from typing import Any

from ... import registry
from ...contracts.canonical_form import canonical_form, source_hash
from ...contracts.device import CPUDevice, GPUDevice
from ...contracts.recipe import Recipe
from ...contracts.recipe_entries import TABLE, definition_keys, subject_of
from ...errors import Deep500Error
from ...frameworks import framework
from ...reports.text import clean

DEVICES = {device.__name__: device for device in (CPUDevice, GPUDevice)}
OF_UPDATES = ("optimizer", "optimizers", "events")  # what an evaluation does without
OUR_FRAMEWORK = re.compile(r"deep500\.frameworks\.(\w+):\w+\.from_model")


class NotReplayable(Deep500Error):
    """The recorded weights cannot be evaluated here, so that nothing is said about the recorded numbers."""


def rebuilt_recipe(
    plan: Mapping[str, Any], own: Recipe | None, trains: bool = False
) -> Recipe:
    """The recipe of a plan; `own` is the recipe of the user's file, for definitions that are not ours.

    Without `trains`, an optimizer that cannot be made again does not matter.
    """
    written = plan["recipe"]
    name = clean(written["name"])[:100]
    parts = {}
    for part in ("fixed", "mutable"):
        own_part = getattr(own, part) if own is not None else {}
        parts[part] = _part(written[part], own_part, trains)
    # metrics are not made again: `own` has them, and ours are derived from the samples
    stand_in = own.metrics if own else [(registry.find("metrics", "FinalLoss")(), None)]
    scale = {
        key: _plain_value(key, value) for key, value in plan.get("scale", {}).items()
    }
    return Recipe(name, parts["fixed"], parts["mutable"], stand_in, scale=scale)


def changed_definitions(plan: Mapping[str, Any]) -> list[str]:
    """The classes of ours that a recipe names and whose source is another one today."""
    entries = {**plan["recipe"]["fixed"], **plan["recipe"]["mutable"]}
    changed = []
    for key in definition_keys():
        cls = _class_of(TABLE[key].folder, entries.get(key))
        if cls is not None and entries[key].get("source") != source_hash(cls):
            changed.append(cls.__name__)
    adapter = _adapter_of(entries.get("executor"))
    if adapter is not None and entries["executor"].get("source") != source_hash(
        type(adapter)
    ):
        changed.append(type(adapter).__name__)
    return changed


def _part(
    written: Mapping[str, Any], own: Mapping[str, Any], trains: bool
) -> dict[str, Any]:
    """One part of the recipe as it was run, which options of `d5 run` may have changed."""
    own_forms = canonical_form(own)
    entries: dict[str, Any] = {}
    for key, value in written.items():
        if key in own and _same_thing(own_forms[key], value):
            entries[key] = own[key]
        elif key == "executor":
            entries[key] = _executor(value)
        elif subject_of(key) in OF_UPDATES and not trains:
            entries[key] = value  # no update is done: the optimizer is never made
        elif key == "optimizers":
            entries[key] = {
                name: _entry("optimizer", form) for name, form in value.items()
            }
        else:
            entries[key] = _entry(key, value)
    return entries


def _same_thing(own: Any, written: Any) -> bool:
    """Whether two canonical forms are of one thing; its source may have changed since."""
    if isinstance(own, Mapping) and isinstance(written, Mapping):
        keys = (own.keys() | written.keys()) - {"source"}
        return all(own.get(key) == written.get(key) for key in keys)
    return own == written


def _entry(key: str, value: Any) -> Any:
    """An entry of a recipe from its canonical form."""
    if key not in definition_keys() or isinstance(value, str):
        return _plain_value(key, value)
    kind = TABLE[key].folder
    if (cls := _class_of(kind, value)) is not None:
        return cls
    if isinstance(value, Mapping) and value.keys() == {"definition", "settings"}:
        settings = {str(k): _plain_value(key, v) for k, v in value["settings"].items()}
        return registry.find(kind, str(value["definition"]))(**settings)
    raise _of_its_own(key, value)


def _class_of(kind: str, value: Any) -> Any:
    """The class that {"name": "module:Class"} stands for, if the registry has it; else None."""
    name = value.get("name") if isinstance(value, Mapping) else None
    if not isinstance(name, str):
        return None
    module, _, class_name = name.partition(":")
    if class_name not in registry.known(kind):
        return None
    cls = registry.find(kind, class_name)
    return cls if cls.__module__ == module else None


def _executor(value: Any) -> Any:
    if isinstance(value, str):
        framework(value)
        return value
    adapter = _adapter_of(value)
    if adapter is None:
        raise _of_its_own("executor", value)
    return adapter.from_model


def _adapter_of(value: Any) -> Any:
    name = value.get("name") if isinstance(value, Mapping) else None
    match = OUR_FRAMEWORK.fullmatch(name) if isinstance(name, str) else None
    return framework(match[1]) if match else None


def _plain_value(key: str, value: Any) -> Any:
    """A number, a text, or tuples and dictionaries of them; a definition in there is of the recipe's own."""
    if isinstance(value, list):
        return tuple(_plain_value(key, v) for v in value)
    if isinstance(value, Mapping):
        if value.get("definition") in DEVICES and isinstance(
            value.get("settings"), dict
        ):
            return DEVICES[value["definition"]](**value["settings"])
        if {"definition", "name", "partial", "instance"} & value.keys():
            raise _of_its_own(key, value)
        return {str(k): _plain_value(key, v) for k, v in value.items()}
    return value


def _of_its_own(key: str, value: Any) -> NotReplayable:
    name = (
        value.get("name", value.get("definition", ""))
        if isinstance(value, Mapping)
        else value
    )
    shown = clean(name).rpartition(":")[2][:60]
    return NotReplayable(
        f"the recipe brings its own {key.replace('_', ' ')} {shown!r}, and code from a bundle is never run: "
        "give the recipe's file with --recipe FILE"
    )
