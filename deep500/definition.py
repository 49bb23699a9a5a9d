"""A definition is a frozen dataclass in its own file: its fields are its settings, its methods are formulas."""

import typing
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, dataclass_transform

from .canonical import canonical
from .errors import Deep500Error


@dataclass_transform(frozen_default=True)
class Definition:
    """Base of operators, optimizers, metrics …: every subclass becomes a frozen dataclass without a decorator.

    A field annotated with numbers, texts or tuples of them also accepts lists, NumPy arrays and scalars, which are
    converted to the annotated type, so that equal settings make equal definitions. A `__post_init__` of a subclass
    must call this one first.
    """

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        for name, annotation in _annotations(type(self)).items():  # type: ignore[arg-type]
            try:
                value = canonical(getattr(self, name), annotation)
            except ValueError as error:
                owner = type(self).__name__
                raise Deep500Error(f"{name} of {owner} is {error}") from None
            object.__setattr__(self, name, value)

    @property
    def settings(self) -> dict[str, Any]:
        """The fields by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]


@cache
def _annotations(cls: Any) -> dict[str, Any]:
    """The annotation of every field; annotations written as strings stay strings if one cannot be resolved."""
    annotations = {f.name: f.type for f in fields(cls)}
    if not any(
        isinstance(annotation, str) for annotation in annotations.values()
    ):
        return annotations
    try:
        hints = typing.get_type_hints(cls)
    except NameError:
        return annotations
    return {name: hints[name] for name in annotations}
