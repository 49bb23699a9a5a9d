"""Which kernel belongs to a definition: one that is inherited computes its parent's formula, not an overridden one."""

from collections.abc import Callable
from typing import Any

PACKAGE = __name__.partition(".")[0]


def own_kernel(
    definition: Any, framework: str, formula: tuple[str, ...]
) -> Callable | None:
    """The method named after the framework; None if a user's class has overridden what our kernel computes."""
    cls = type(definition)
    if framework not in dir(cls):
        return None
    if _is_ours(_definer(cls, framework)):
        definers = [_definer(cls, method) for method in formula]
        if not all(map(_is_ours, definers)):
            return None
    method: Callable | None = getattr(definition, framework, None)
    return method


def _definer(cls: type, name: str) -> type:
    """The class that an attribute is inherited from."""
    for base in cls.__mro__:
        if name in vars(base):
            return base
    return cls


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == PACKAGE
