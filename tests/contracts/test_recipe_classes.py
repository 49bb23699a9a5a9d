"""A class in a recipe where an object is wanted, for every kind that a recipe takes: made, or refused in one line."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from deep500 import registry
from deep500.contracts.recipe import Recipe
from deep500.contracts.recipe_entries import TABLE, definition_keys
from deep500.errors import Deep500Error
from deep500.rerun.recipe_run import checked_events
from deep500.training.events.event import Event

ENTRIES = {
    "model": "mlp",
    "dataset": "digits",
    "epochs": 1,
    "batch_size": 8,
    "executor": "reference",
    "optimizer": "SGD",
}
OWN = {"train_sampler": {"batch_size": 8}}  # settings that the run gives


def classes() -> Iterator[tuple[str, str]]:
    for key in definition_keys():
        for name in registry.known(TABLE[key].folder) if TABLE[key].folder else ():
            yield key, name
    for name in registry.known("metrics"):
        yield "METRICS", name
    for cls in Event.__subclasses__():
        yield "events", cls.__name__


def recipe_with(key: str, value: Any) -> Recipe:
    metrics: Any = value if key == "METRICS" else "TestAccuracy"
    entries = ENTRIES if key == "METRICS" else {**ENTRIES, key: value}
    fixed = {k: v for k, v in entries.items() if TABLE[k].part == "FIXED"}
    mutable = {k: v for k, v in entries.items() if TABLE[k].part == "MUTABLE"}
    return Recipe("classes", fixed, mutable, [(metrics, None)])


def made(key: str, value: Any) -> Any:
    if key == "METRICS":
        return recipe_with(key, value).all_metrics()[0]
    if key == "events":
        events = recipe_with(key, [value]).entry("events")
        return checked_events("classes", events)[0]
    return recipe_with(key, value).make(key, **OWN.get(key, {}))


def needed(cls: type, given: dict[str, Any]) -> list[str]:
    """The settings without a default that are not given."""
    names = []
    for name, parameter in inspect.signature(cls).parameters.items():
        is_many = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.default is parameter.empty and name not in given and not is_many:
            names.append(name)
    return names


def takes_its_defaults(cls: type, given: dict[str, Any]) -> bool:
    """Whether the class itself takes them: a sampler with weights refuses to have none."""
    try:
        cls(**given)
    except Deep500Error:
        return False
    return True


@pytest.mark.parametrize(("key", "name"), list(classes()))
def test_a_class_is_made_or_refused_in_one_line(key: str, name: str) -> None:
    if key == "events":
        cls = {cls.__name__: cls for cls in Event.__subclasses__()}[name]
    else:
        cls = registry.find("metrics" if key == "METRICS" else TABLE[key].folder, name)
    given = OWN.get(key, {})
    missing = needed(cls, given)
    if not missing and takes_its_defaults(cls, given):
        assert isinstance(made(key, cls), cls)
        return
    with pytest.raises(Deep500Error) as error:
        made(key, cls)
    text = str(error.value)
    assert name in text
    assert not missing or missing[0] in text or "unexpected" in text
    assert "\n" not in text


@pytest.mark.parametrize("key", [*definition_keys(), "METRICS", "events"])
def test_another_class_is_refused_in_one_line(key: str) -> None:
    if key in ("model", "procedure", "optimizer"):
        pytest.skip("it may be any class: it is judged where it is used")
    with pytest.raises(Deep500Error) as error:
        made(key, int)
    assert "\n" not in str(error.value)
