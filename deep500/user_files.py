"""Imports a Python file that a user names, and finds the classes that it defines."""

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Collection
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .errors import Deep500Error, did_you_mean, unknown, with_place
from .own_modules import own_modules

PREFIX = "deep500_user_"


def load_class(file: str, name: str, base: Any, role: str) -> type:
    """The class of that name that a Python file defines; error messages call it a `role`."""

    def is_wanted(cls: type) -> bool:
        return issubclass(cls, base)

    return find_class(file, name, is_wanted, role)


def find_class(
    file: str, name: str, is_wanted: Callable[[type], bool], role: str
) -> type:
    """The class of that name that a Python file defines, if it is wanted; error messages call it a `role`."""
    classes = classes_in(file, is_wanted, role)
    if name in classes:
        return classes[name]
    raise unknown(f"{role} in {Path(file)}", name, classes)


def classes_in(
    file: str, is_wanted: Callable[[type], bool], role: str
) -> dict[str, type]:
    """The wanted classes that a Python file defines, by name; error messages call them a `role`."""
    path = Path(file)
    if not path.is_file():
        raise Deep500Error(
            f"there is no file {file}: name the {role} in a file as my_{role}.py:Name"
        )
    module = imported(path)
    classes: dict[str, type] = {}
    for key, value in vars(module).items():
        is_own = getattr(value, "__module__", "") == module.__name__
        if isinstance(value, type) and is_own and is_wanted(value):
            classes[key] = value
    return classes


def unnamed_class(
    file: str, is_wanted: Callable[[type], bool], role: str
) -> Deep500Error:
    """The error for a Python file of which no class is named: it lists those that it defines."""
    names = [*classes_in(file, is_wanted, role)]
    if not names:
        return Deep500Error(f"{file} defines no {role}: write a class in it")
    return Deep500Error(
        f"{file} is a file: name the {role} in it, as in {file}:{names[0]}. Known: {', '.join(names)}"
    )


def installed(name: str) -> Any:
    """What a dotted name stands for, such as torch.optim.Adam: an attribute of an installed module."""
    root, *attributes = name.split(".")
    value: Any = _installed_module("deep500" if root == "d5" else root, name)
    for attribute in attributes:
        names = dir(value)
        if hasattr(value, attribute):
            value = getattr(value, attribute)
        elif isinstance(value, ModuleType):
            value = _installed_module(f"{value.__name__}.{attribute}", name, names)
        else:
            value = None
    return value


def _installed_module(
    module: str, name: str, known: Collection[str] = ()
) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        suggestion = did_you_mean(module.rpartition(".")[2], known)
        raise Deep500Error(
            f"there is no {name}: no module {module} is installed.{suggestion} A class in a file is named as my.py:Name"
        ) from None
    except (Exception, SystemExit) as error:  # code from anyone
        reason = with_place(error)
        raise Deep500Error(f"{module} cannot be imported: {reason}") from error


class FreshLoader(SourceFileLoader):
    """Compiles the source every time: Python's cache takes a file of the same second and size for the old one."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def imported(path: Path) -> ModuleType:
    """The module of a file, imported under a name of its own; it may import modules of its folder.

    A file that has not changed since it was imported is not run again.
    """
    name = _module_name(path)
    state = _state(path)
    loaded = _LOADED.get(name)
    if loaded is not None and loaded[0] == state:
        return loaded[1]
    if name in _LOADING:  # it imports a file that imports it
        return _LOADING[name]
    if path.suffix != ".py":
        raise Deep500Error(f"{path} is not Python: its name ends in .py")
    loader = FreshLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    _LOADING[name] = module
    try:
        with own_modules(path.parent, imported):
            loader.exec_module(module)
    except Deep500Error:
        raise
    except (Exception, SystemExit) as error:  # anything that a file may do
        reason = with_place(error)
        raise Deep500Error(f"{path} cannot be imported: {reason}") from error
    finally:
        del _LOADING[name]
    _LOADED[name] = state, module
    return module


def forget_modules(is_forgotten: Callable[[ModuleType], bool]) -> None:
    """Let the next import of these modules run them again, as new modules."""
    for name, module in [*sys.modules.items()]:
        if isinstance(module, ModuleType) and is_forgotten(module):
            del sys.modules[name]
            _LOADED.pop(name, None)


def file_of(module_name: str) -> Path | None:
    """The user's file that was imported as this module; None if it is no such module."""
    loaded = _LOADED.get(module_name)
    return Path(loaded[0][0]) if loaded else None


# modules of users' files by name, with the state of the file when it was imported
_LOADED: dict[str, tuple[tuple[str, int, int], ModuleType]] = {}
_LOADING: dict[str, ModuleType] = {}  # those that are being imported


def _state(path: Path) -> tuple[str, int, int]:
    facts = path.stat()
    return str(path.resolve()), facts.st_mtime_ns, facts.st_size


def _module_name(path: Path) -> str:
    """A name that no other file has: `inspect` finds the source of a class through the name of its module."""
    first = PREFIX + re.sub(r"\W", "_", path.stem)
    name = first
    number = 1
    while name in sys.modules and not _is_of(sys.modules[name], path):
        number += 1
        name = f"{first}_{number}"
    return name


def _is_of(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()
