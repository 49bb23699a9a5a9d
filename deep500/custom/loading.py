"""Loads the operator that a user names: "Relu", "my_op.py:IPowOp" or "ipowop.cpp:ipowop"."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import registry
from ..contracts.operator import Operator
from ..errors import Deep500Error, unknown, with_place
from ..user_files import load_class as load_class
from .cpp import compile_custom_cppop
from .operators import CustomOp, as_operator

CPP = (".cpp", ".cc", ".cxx", ".cu")


def load_operator(text: str, attributes: Mapping[str, Any] | None = None) -> Operator:
    """A built-in operator by its name, or one in a file; attributes are settings, and definitions in C++."""
    settings = dict(attributes or {})
    file, colon, name = text.rpartition(":")
    if not colon:
        return _built_in(text, settings)
    path = Path(file)
    if not path.is_file():
        raise Deep500Error(
            f"there is no file {file}: name an operator as my_op.py:IPowOp, ipowop.cpp:ipowop or Relu"
        )
    if path.suffix in CPP:
        return compile_custom_cppop(name, path, definitions=settings).operator
    if path.suffix != ".py":
        suffixes = ", ".join(CPP)
        raise Deep500Error(f"{file} is neither Python (.py) nor C++ ({suffixes})")
    cls = load_class(file, name, CustomOp | Operator, "operator")
    return _instance(cls, settings)


def _built_in(name: str, settings: dict[str, Any]) -> Operator:
    path = Path(name)
    if path.suffix in (".py", *CPP):
        raise Deep500Error(
            f"{name} is a file: name the operator in it as well, as in {name}:{path.stem}"
        )
    cls = registry.find("operators", name)
    return _instance(cls, settings)


def _instance(cls: type, settings: dict[str, Any]) -> Operator:
    signature = inspect.signature(cls)
    try:
        signature.bind(**settings)
    except TypeError:
        parameters = [*signature.parameters]
        for key in settings:
            if key not in parameters:
                raise unknown(f"attribute of {cls.__name__}", key, parameters) from None
        names = ", ".join(parameters)
        raise Deep500Error(
            f"{cls.__name__} needs more attributes. It takes: {names}"
        ) from None
    try:
        return as_operator(cls(**settings))
    except Deep500Error:
        raise
    except Exception as error:  # anything that a user's constructor raises
        arguments = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        raise Deep500Error(
            f"{cls.__name__}({arguments}) cannot be made: {with_place(error)}"
        ) from error
