"""Operators of this process as a command line names them, so that other processes find them."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import registry
from ...contracts.operator import Operator
from ...custom.cpp import CppOp
from ...custom.operators import CustomOp
from ...errors import Deep500Error


def operator_text(operator: Any) -> str:
    """An operator or a function as a command line names it: other processes load it by that."""
    if isinstance(operator, str):
        return operator
    if isinstance(operator, CppOp):
        place = f"{operator.source}:{operator.name}"
        return _with_settings(place, operator.definitions)
    if isinstance(operator, CustomOp):
        return _with_settings(_place(type(operator)), operator.attributes)
    if isinstance(operator, Operator):
        return _with_settings(_place(type(operator)), operator.settings)
    if inspect.isclass(operator) or inspect.isfunction(operator):
        return _place(operator)
    raise _not_found(operator)


def _with_settings(place: str, settings: Mapping[str, Any]) -> str:
    if not settings:
        return place
    pairs = [f"{name}={value!r}" for name, value in settings.items()]
    return f"{place}({', '.join(pairs)})"


def _place(code: Any) -> str:
    """The name of a built-in operator, or the file and the name of a class or a function at its top."""
    name = code.__name__
    is_built_in = name in registry.known("operators")
    if is_built_in and registry.find("operators", name) is code:
        return str(name)
    # the running script would run again wherever it is imported
    if code.__qualname__.isidentifier() and code.__module__ != "__main__":
        file = inspect.getsourcefile(code)
        if file and Path(file).is_file():
            return f"{file}:{name}"
    raise _not_found(code)


def _not_found(operator: Any) -> Deep500Error:
    name = getattr(operator, "__qualname__", None) or repr(operator)
    return Deep500Error(
        f"{name} cannot be found by the processes that time it: define it at the top of a file that is imported, or "
        "give its name, as in my.py:name"
    )
