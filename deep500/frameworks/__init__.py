"""The frameworks by name: a package in this folder, or a module named in the entry point group `deep500.frameworks`."""

import difflib
import importlib
import pkgutil
from functools import cache
from importlib import metadata

from ..contracts.framework import Framework
from ..errors import Deep500Error


@cache
def framework(name: str) -> Framework:
    """The adapter of that name; nothing of the framework itself is imported yet."""
    if name in (modules := _modules()):
        return importlib.import_module(modules[name]).FRAMEWORK
    near = difflib.get_close_matches(name.lower(), modules, 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise Deep500Error(f"no framework is named {name!r}.{hint} Known: {', '.join(sorted(modules))}")


def known_frameworks() -> list[str]:
    """The names of all frameworks that there is an adapter for."""
    return sorted(_modules())


def available_frameworks() -> list[str]:
    """The names of the frameworks that are installed here."""
    return [name for name in known_frameworks() if framework(name).available()]


@cache
def _modules() -> dict[str, str]:
    """The module of every framework by the framework's name; ours come first."""
    outside = {point.name: point.value for point in metadata.entry_points(group=f"deep500.{__name__.split('.')[-1]}")}
    return outside | {found.name: f"{__name__}.{found.name}" for found in pkgutil.iter_modules(__path__)}
