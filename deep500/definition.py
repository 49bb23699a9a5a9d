"""A definition is a frozen dataclass in its own file: its fields are its settings, its methods are formulas."""

import dataclasses
import typing
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, dataclass_transform

from .canonical import canonical, members, shown
from .errors import Deep500Error


@dataclass_transform(frozen_default=True)
class Definition:
    """Base of operators, optimizers, metrics …: every subclass becomes a frozen dataclass without a decorator.

    A field annotated with numbers, texts or tuples of them also accepts lists, NumPy arrays and scalars, which are
    converted to the annotated type, so that equal settings make equal definitions. A `__post_init__` of a subclass
    must call this one first.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        for name, annotation in _annotations(type(self)).items():  # type: ignore[arg-type]
            try:
                value = canonical(getattr(self, name), annotation)
                value = _definition(value, annotation)
            except ValueError as error:
                owner = type(self).__name__
                raise Deep500Error(f"{name} of {owner} is {error}") from None
            object.__setattr__(self, name, value)

    @property
    def settings(self) -> dict[str, Any]:
        """The fields by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


def option(default: Any, meaning: str, metavar: str = "") -> Any:
    """A field with its default, and what the help of a command says of it; `metavar` stands there for a value."""
    about = {"meaning": meaning, "metavar": metavar}
    return dataclasses.field(default=default, metadata=about)


def with_defaults(cls: Any) -> Any:
    """The instance of a definition's class whose settings are its defaults; a Deep500Error if one has none."""
    missing = []
    for field in fields(cls):
        has_default = field.default is not MISSING
        if not has_default and field.default_factory is MISSING:
            missing.append(f"{field.name}=…")
    if not missing:
        return cls()
    name = cls.__name__
    raise Deep500Error(
        f"{name} is a class, and not all of its settings have defaults: give an instance, {name}({', '.join(missing)})"
    )


def _definition(value: Any, annotation: Any) -> Any:
    """The value of a setting; if definitions are wanted, it must be one, or a class that can be made without settings.

    Raises ValueError, with a text that completes "… is".
    """
    kinds = members(annotation)
    for kind in kinds:
        if not isinstance(kind, type) or not issubclass(kind, Definition):
            return value
    if value is None or isinstance(value, kinds):
        return value
    if isinstance(value, type) and issubclass(value, kinds):
        return with_defaults(value)
    wanted = " or ".join(f"a {kind.__name__}" for kind in kinds)
    raise ValueError(f"{shown(value)}, and {wanted} is wanted")


@cache
def _annotations(cls: Any) -> dict[str, Any]:
    """The annotation of every field; annotations written as strings stay strings if one cannot be resolved."""
    annotations = {f.name: f.type for f in fields(cls)}
    if not any(isinstance(annotation, str) for annotation in annotations.values()):
        return annotations
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except NameError:
        return annotations
    return {name: hints[name] for name in annotations}
