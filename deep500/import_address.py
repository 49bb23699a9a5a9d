"""How another process finds a class or a function: its module, its name, and the file if a user named one."""

import importlib
import sys
from pathlib import Path
from typing import Any

from .user_files import file_of, imported

# A user's file has a module of its own in every process, so its path is what all of them share.
Address = tuple[str, str, str | None]


def import_address(value: Any) -> Address | None:
    """The address of a class or function; None if no other process can import it."""
    module, name = value.__module__, value.__qualname__
    file = file_of(module)
    address = module, name, None if file is None else str(file)
    if module == "__main__" or "<" in name:
        return None
    try:
        return address if at_address(address) is value else None
    except Exception:  # a module that cannot be imported, or has no such name
        return None


def class_address(cls: type) -> Address:
    """The address of a class; that of a single file is its path, wherever the file was imported from."""
    module = sys.modules[cls.__module__]
    is_in_package = "." in cls.__module__
    file = None if is_in_package else getattr(module, "__file__", None)
    return cls.__module__, cls.__qualname__, file


def at_address(address: Any) -> Any:
    """The class or function at an address, imported if need be."""
    module_name, name, file = address
    if file is None:
        value: Any = importlib.import_module(module_name)
    else:
        value = imported(Path(file))
    for part in name.split("."):
        value = getattr(value, part)
    return value
