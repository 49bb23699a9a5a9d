"""From the plan of a bundle back to a recipe that can be evaluated. Nothing that a bundle brings is ever run:

a definition is one of this installation, found in the registry by its name, or comes from the recipe's file that the
user names.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .. import registry
from ..contracts.device import CPUDevice, GPUDevice
from ..contracts.modifier import Modified
from ..contracts.recipe import Recipe
from ..contracts.recipe_entries import TABLE, definition_keys, subject_of
from ..definition_text import KINDS
from ..errors import Deep500Error
from ..frameworks import framework
from ..hashing.canonical_form import canonical_form
from ..hashing.source_form import source_hash
from ..reports.text import clean
from ..training.recipe_plan import RecipePlan

DEVICES = {device.__name__: device for device in (CPUDevice, GPUDevice)}
DEFINITION_KEYS = {"definition", "name", "partial", "instance", "array"}
# what an evaluation does without
OURS = {"definition", "settings"}  # a user's definition has its source
OF_UPDATES = "optimizer", "optimizers", "events"
OUR_FRAMEWORK = re.compile(r"deep500\.frameworks\.(\w+):\w+\.from_model")


class NotReplayable(Deep500Error):
    """The recorded weights cannot be evaluated here, so that nothing is said about the recorded numbers."""


def rebuilt_recipe(
    plan: RecipePlan, user_recipe: Recipe | None, trains: bool = False
) -> Recipe:
    """The recipe of a plan; `user_recipe` is that of the user's file, for definitions that are not ours.

    Raises `NotReplayable` for a definition that is neither ours nor in that file. Without `trains`, an optimizer that
    cannot be made again does not matter.
    """
    written = plan.recipe
    name = clean(written.name)[:100]
    # Metrics are not made again: the user's file has them, and ours are derived from the samples.
    if user_recipe is not None:
        user_fixed = user_recipe.fixed
        user_mutable = user_recipe.mutable
        metrics = user_recipe.metrics
    else:
        user_fixed = {}
        user_mutable = {}
        metrics = [(registry.find("metrics", "FinalLoss")(), None)]
    fixed = _part(written.fixed, user_fixed, trains)
    mutable = _part(written.mutable, user_mutable, trains)
    scale = {}
    for key, value in (plan.scale or {}).items():
        scale[key] = _plain_value(key, value)
    return Recipe(name, fixed, mutable, metrics, scale=scale)


def changed_definitions(plan: RecipePlan) -> list[str]:
    """The classes of ours that a recipe names and whose source is another one today."""
    entries = {**plan.recipe.fixed, **plan.recipe.mutable}
    changed = []
    for key in definition_keys():
        cls = _class_of(TABLE[key].folder, entries.get(key))
        if cls is not None and _source_changed(entries[key], cls):
            changed.append(cls.__name__)
    ours = _framework_of(entries.get("executor"))
    if ours is not None and _source_changed(entries["executor"], type(ours)):
        changed.append(type(ours).__name__)
    return changed


def _source_changed(form: Mapping[str, Any], cls: type) -> bool:
    return form.get("source") != source_hash(cls)


def _part(
    written: Mapping[str, Any], user_entries: Mapping[str, Any], trains: bool
) -> dict[str, Any]:
    """One part of the recipe as it was run, which options of `d5 run` may have changed."""
    user_forms = canonical_form(user_entries)
    entries = {}
    for key, value in written.items():
        if key in user_entries and _same_definition(user_forms[key], value):
            entries[key] = user_entries[key]
        elif key == "executor":
            entries[key] = _executor(value)
        elif subject_of(key) in OF_UPDATES and not trains:
            # no update is done: the optimizer is never made
            entries[key] = value
        elif key == "optimizers":
            optimizers = {}
            for name, form in value.items():
                optimizers[name] = _entry("optimizer", form)
            entries[key] = optimizers
        else:
            entries[key] = _entry(key, value)
    return entries


def _same_definition(a: Any, b: Any) -> bool:
    """Whether two canonical forms are of one definition; its source may have changed since."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        keys = (a.keys() | b.keys()) - {"source", "uses", "name"}
        if not all(a.get(key) == b.get(key) for key in keys):
            return False
        return _own_name(a) == _own_name(b)
    return a == b


def _own_name(form: Mapping[str, Any]) -> str:
    """The name without the module, which bundles of earlier versions also have for a user's own code."""
    name = str(form.get("name", ""))
    return name if name.startswith("deep500.") else name.rpartition(":")[2]


def _entry(key: str, value: Any) -> Any:
    """An entry of a recipe from its canonical form."""
    if key not in definition_keys() or isinstance(value, str):
        return _plain_value(key, value)
    kind = TABLE[key].folder
    cls = _class_of(kind, value)
    if cls is not None:
        return cls
    return _definition(key, value, (kind,))


def _definition(key: str, value: Any, folders: Iterable[str]) -> Any:
    """A definition of ours in one of these folders, with settings that may be definitions of ours themselves."""
    if not isinstance(value, Mapping) or value.keys() != OURS:
        raise _foreign_definition(key, value)
    settings = {}
    for setting, form in value["settings"].items():
        settings[str(setting)] = _setting(key, form)
    name = str(value["definition"])
    if name == Modified.__name__:
        return Modified(**settings)
    for folder in folders:
        if registry.has(folder, name):
            return registry.named(folder, name)(**settings)
    raise _foreign_definition(key, value)


def _setting(key: str, form: Any) -> Any:
    """A setting of a definition: a plain value, a definition of ours, or a list of them."""
    if isinstance(form, list):
        return tuple(_setting(key, item) for item in form)
    is_definition = isinstance(form, Mapping) and form.keys() == OURS
    if is_definition and form["definition"] not in DEVICES:
        return _definition(key, form, KINDS)
    return _plain_value(key, form)


def _class_of(kind: str, value: Any) -> Any:
    """The class that {"name": "module:Class"} stands for, if the registry has it; else None."""
    name = _name_in(value)
    if name is None:
        return None
    module, _, class_name = name.partition(":")
    if class_name not in registry.known(kind):
        return None
    cls = registry.find(kind, class_name)
    return cls if cls.__module__ == module else None


def _name_in(form: Any) -> str | None:
    """The name in a canonical form such as {"name": "module:Class"}; None if it has none."""
    if not isinstance(form, Mapping):
        return None
    name = form.get("name")
    return name if isinstance(name, str) else None


def _executor(value: Any) -> Any:
    if isinstance(value, str):
        framework(value)
        return value
    ours = _framework_of(value)
    if ours is None:
        raise _foreign_definition("executor", value)
    return ours.from_model


def _framework_of(executor: Any) -> Any:
    """Our framework that makes the executor of this canonical form; None if it is not one of ours."""
    name = _name_in(executor)
    if name is None:
        return None
    match = OUR_FRAMEWORK.fullmatch(name)
    return framework(match[1]) if match else None


def _plain_value(key: str, value: Any) -> Any:
    """A number, a text, or tuples and dictionaries of them; raises `NotReplayable` for a definition in there."""
    if isinstance(value, list):
        return tuple(_plain_value(key, item) for item in value)
    if not isinstance(value, Mapping):
        return value
    definition = value.get("definition")
    settings = value.get("settings")
    if definition in DEVICES and isinstance(settings, dict):
        return DEVICES[definition](**settings)
    if DEFINITION_KEYS & value.keys():
        raise _foreign_definition(key, value)
    plain_values = {}
    for name, item in value.items():
        plain_values[str(name)] = _plain_value(key, item)
    return plain_values


def _foreign_definition(key: str, value: Any) -> NotReplayable:
    """The error for a definition that this installation does not have."""
    name = value
    if isinstance(value, Mapping):
        name = value.get("name", value.get("definition", ""))
    short_name = clean(name).rpartition(":")[2][:60]
    subject = key.replace("_", " ")
    or_option = ""
    if key in ("optimizer", "scheme", "codec"):
        or_option = (
            f", or what an option of the run named again: --{key} FILE:{short_name}"
        )
    return NotReplayable(
        f"the recipe brings its own {subject} {short_name!r}, and code from a bundle is never run: "
        f"give the recipe's file with --recipe FILE{or_option}"
    )
